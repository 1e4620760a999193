"""The real pi in RPC mode: commands in, everything that happens out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from pi_subagents.harness.pi.programs import PI_VARIABLE
from tests.kit.json_lines import JsonLines, Message
from tests.kit.waiting import PATIENCE_S
from tests.pi.stage import Stage

Event = Message
WAIT_S = PATIENCE_S
"""Far beyond what anything here takes, even on a busy machine."""


class Pi(JsonLines):
    """A pi that is told what to do; every dialog is answered as `answers` says, or cancelled.

    Where there is a choice, the first option is taken that begins with one of `choices`.
    """

    def __init__(self, stage: Stage, *arguments: str, environ: Mapping[str, str] | None = None) -> None:
        self.answers: dict[str, dict[str, Any]] = {}
        self.choices: tuple[str, ...] = ()
        self._next = 0
        argv = [*shlex.split(stage.environ[PI_VARIABLE]), "--mode", "rpc", *arguments]
        self._log = stage.root / "pi-errors.txt"
        super().__init__(argv, stage.project, {**stage.environ, **(environ or {})}, self._log)

    def ask(self, **command: Any) -> Any:
        """Send a command and return the data of its answer."""
        self._next += 1
        name = f"ask-{self._next}"
        self.send({"id": name, **command})
        answer = self.hear_next(lambda event: event["type"] == "response" and event.get("id") == name)
        assert answer["success"], answer
        return answer.get("data")

    def next(self, within_s: float = WAIT_S) -> Event | None:
        event = super().next(within_s)
        assert event is not None, f"pi has ended; it said:\n{self._log.read_text()}\n{self.said[-8:]}"
        if event["type"] == "extension_ui_request" and (answer := self._answer(event)):
            self.send({"type": "extension_ui_response", "id": event["id"], **answer})
        return event

    def until_type(self, kind: str) -> Event:
        """Read on until an event of a type."""
        return self.hear_next(lambda event: event["type"] == kind)

    def notice(self) -> str:
        """The next notice for the person."""
        notice: str = self.hear_next(lambda event: event.get("method") == "notify")["message"]
        return notice

    def prompt(self, message: str) -> list[Event]:
        """Say something and wait until the agent has nothing more to do; returns what happened."""
        start = len(self.said)
        self.ask(type="prompt", message=message)
        self.until_type("agent_settled")
        return self.said[start:]

    def command(self, line: str) -> list[Event]:
        """Run a command of an extension to its end."""
        start = len(self.said)
        self.ask(type="prompt", message=line)
        return self.said[start:]

    def _answer(self, event: Event) -> dict[str, Any] | None:
        if event["method"] not in ("select", "confirm", "input", "editor"):
            return None
        for option in event.get("options", ()):
            if option.startswith(self.choices):
                return {"value": option}
        return self.answers.get(event["method"], {"cancelled": True})


def results(events: list[Event]) -> Iterator[Event]:
    """The ends of tool calls, in their order."""
    return (event for event in events if event["type"] == "tool_execution_end")


def updates(events: list[Event]) -> Iterator[Event]:
    """What was told of calls while they ran."""
    return (event for event in events if event["type"] == "tool_execution_update")


def text_of(event: Event) -> str:
    """What the model was told."""
    return "".join(part.get("text", "") for part in event["result"]["content"])


def tells_of_an_end(event: Event) -> bool:
    """Whether it is the message that a background run is over."""
    return bool(event["type"] == "message_end" and event["message"].get("customType") == "pi-subagents:bg-done")
