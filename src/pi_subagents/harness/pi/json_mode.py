"""The `pi` coding agent in JSON mode: one process per run, the prompt on standard input, events on standard output."""

from __future__ import annotations

from pi_subagents.harness.contract import Decoder, Invocation, Launch
from pi_subagents.harness.pi.decoder import PiDecoder
from pi_subagents.harness.pi.launch import PiNeeds, pi_invocation
from pi_subagents.harness.pi.needs import needs_of
from pi_subagents.harness.pi.pi import Pi


class PiJson(Pi):
    """`pi --mode json -p`. Once started it cannot be spoken to."""

    name = "pi-json"
    can_steer = False

    def invocation(self, launch: Launch) -> Invocation:
        """How to start `pi` for one task."""
        return self.command(launch, needs_of(launch))

    def command(self, launch: Launch, needs: PiNeeds) -> Invocation:
        """The same, of what was gathered."""
        return pi_invocation(launch, needs, ("--mode", "json", "-p"), launch.prompt.encode("utf-8", "replace"))

    def decoder(self) -> Decoder:
        """A fresh decoder for one run."""
        return PiDecoder()

    def steer(self, text: str) -> bytes:
        """JSON mode has no way to say anything more."""
        raise NotImplementedError(f"an agent in JSON mode cannot be steered: {text!r}")

    def abort(self) -> bytes:
        """There is no polite request: the process is asked with a signal."""
        return b""
