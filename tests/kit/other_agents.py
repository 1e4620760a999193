"""Other agents than `pi`, for tests of what people see of them: each does what its task says, line by line.

A line `> edit PATH` is a call that changes a file, `> ask WHAT` a request for permission; all else is the answer.
"""

from __future__ import annotations

import pytest

from pi_subagents.harness import HARNESSES, Dialogue, Invocation, Report
from pi_subagents.jsonl import Frame
from pi_subagents.models import Usage
from pi_subagents.models import event as ev
from pi_subagents.testing.echo_harness import EchoHarness


class Claude(EchoHarness):
    """Tells what it costs."""

    name = "claude"
    cost: float | None = 0.25
    reports: frozenset[Report] = frozenset({"cost", "diffs", "context"})
    honours = frozenset({"system_prompt", "model", "thinking_level", "program"})

    def own_level(self, level: str) -> str:
        """It cannot think so little."""
        return "low" if level == "minimal" else level

    def dialogue(self, invocation: Invocation) -> Dialogue:
        """A fresh dialogue for one run."""
        return _Telling(super().dialogue(invocation), self.cost)


class Codex(Claude):
    """Does not."""

    name = "codex"
    cost = None


def bring_other_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let these two be what stands behind their names, in this process."""
    for name, cls in (("claude", Claude), ("codex", Codex)):
        monkeypatch.setitem(HARNESSES, name, f"{cls.__module__}.{cls.__name__}")


class _Telling:
    def __init__(self, dialogue: Dialogue, cost: float | None) -> None:
        self._dialogue = dialogue
        self._cost = cost
        self.take_replies, self.abort, self.steer = dialogue.take_replies, dialogue.abort, dialogue.steer
        self.answer = dialogue.answer

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        return [more for event in self._dialogue.decode(frame, at) for more in _with_details(event)]

    def ended(self, exit_code: int, at: int) -> list[ev.AnyEvent]:
        usage = Usage(input=1000, output=100, total_tokens=1100, cost=self._cost or 0.0)
        total = ev.UsageTotal(
            at=at, usage=usage, context_used=1000, context_size=200_000, has_cost=self._cost is not None
        )
        return [total, *self._dialogue.ended(exit_code, at)]


def _with_details(event: ev.AnyEvent) -> list[ev.AnyEvent]:
    """What the calls of a message come to."""
    told: list[ev.AnyEvent] = [event]
    for call in event.tool_calls if isinstance(event, ev.Message) else ():
        subject = str(call.arguments["command"])
        if call.name == "edit":
            told.append(ev.FileChanged(at=event.at, path=subject, diff="-old\n+new\n+more", tool_call_id=call.id))
        if call.name == "ask":
            told.append(ev.ApprovalRequested(at=event.at, id=call.id, what=subject, tool_call_id=call.id))
    return told
