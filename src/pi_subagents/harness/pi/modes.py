"""The `pi` coding agent in its two modes: JSON mode, which hears nothing once it is started, and RPC mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from pi_subagents.harness.contract import Decoder, Invocation, Launch
from pi_subagents.harness.pi.decoder import DIALOGS, PiDecoder, repair
from pi_subagents.harness.pi.launch import SESSION_FILE, PiNeeds, pi_invocation
from pi_subagents.harness.pi.pi import Pi
from pi_subagents.harness.pi.records import UiRequest
from pi_subagents.harness.pi.renewal import PiRenewal, renewal_for
from pi_subagents.harness.pi.surroundings import needs_of
from pi_subagents.jsonl import Frame
from pi_subagents.models import event as ev


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


_UI_REQUEST = msgspec.json.Decoder(UiRequest)


class PiRpc(Pi):
    """`pi --mode rpc`."""

    name = "pi-rpc"
    can_steer = True

    def invocation(self, launch: Launch) -> Invocation:
        """How to start `pi` for one task."""
        return self.command(launch, needs_of(launch))

    def command(self, launch: Launch, needs: PiNeeds) -> Invocation:
        """The same, of what was gathered."""
        # The state tells the agent's own name for its conversation, which JSON mode says by itself.
        prompt = launch.prompt.encode("utf-8", "replace").decode()
        opening = _command("get_state", id="state") + _command("prompt", id="prompt", message=prompt)
        invocation = pi_invocation(launch, needs, ("--mode", "rpc"), opening, interactive=True)
        return replace(invocation, renewal=_renewal(launch, invocation))

    def decoder(self) -> Decoder:
        """A fresh decoder for one run."""
        return _RpcDecoder()

    def steer(self, text: str) -> bytes:
        """What to send so that the agent hears `text` before its next turn."""
        return _command("steer", id="steer", message=text)

    def abort(self) -> bytes:
        """What to send so that the agent stops by itself."""
        return _command("abort", id="abort")


class _RpcDecoder:
    """Decodes, and answers extensions that wait for a person who is not there."""

    def __init__(self) -> None:
        self._decoder = PiDecoder()
        self._replies = b""

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        """The events one record stands for; never raises."""
        events = self._decoder.decode(frame, at)
        if isinstance(frame, bytes) and any(isinstance(event, ev.DialogDismissed) for event in events):
            self._dismiss(frame)
        return events

    def take_replies(self) -> bytes:
        """What must be sent to the agent because of what was decoded since the last call."""
        replies, self._replies = self._replies, b""
        return replies

    def ended(self, exit_code: int, at: int) -> list[ev.AnyEvent]:
        """Nothing: `pi` says by itself when it has settled."""
        return self._decoder.ended(exit_code, at)

    def _dismiss(self, frame: bytes) -> None:
        request = _UI_REQUEST.decode(repair(frame) or frame)
        assert request.method in DIALOGS
        self._replies += _command("extension_ui_response", id=request.id, cancelled=True)


def _renewal(launch: Launch, invocation: Invocation) -> PiRenewal | None:
    # A key of its own is in a directory that ends with the run; a continued conversation is not a fresh one.
    if launch.conversation or (launch.profile is not None and launch.profile.api_key is not None):
        return None
    return renewal_for(launch, invocation, launch.run_dir / SESSION_FILE)


def _command(kind: str, **fields: Any) -> bytes:
    return msgspec.json.encode({"type": kind, **fields}) + b"\n"
