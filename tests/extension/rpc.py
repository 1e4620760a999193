"""The real pi in RPC mode: commands in, everything that happens out."""

from __future__ import annotations

import json
import queue
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any

from pi_subagents.harness.pi.programs import PI_VARIABLE
from tests.kit.waiting import PATIENCE_S
from tests.pi.stage import Stage

WAIT_S = PATIENCE_S
"""Far beyond what anything here takes, even on a busy machine."""

Event = dict[str, Any]


class Pi:
    """A pi that is told what to do; every dialog is answered as `answers` says, or cancelled.

    Where there is a choice, the first option is taken that begins with one of `choices`.
    """

    def __init__(self, stage: Stage, *arguments: str, environ: Mapping[str, str] | None = None) -> None:
        self.answers: dict[str, dict[str, Any]] = {}
        self.choices: tuple[str, ...] = ()
        self.seen: list[Event] = []
        self.process = subprocess.Popen(
            [*shlex.split(stage.environ[PI_VARIABLE]), "--mode", "rpc", *arguments],
            cwd=stage.project,
            env={**stage.environ, **(environ or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self._arrived: queue.Queue[Event | None] = queue.Queue()
        self._next = 0
        self._said: list[str] = []
        self._readers = [threading.Thread(target=work, daemon=True) for work in (self._read, self._listen)]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Pi:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.process.kill()
        self.close()

    def close(self) -> int:
        """Take its input away and wait for its end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            return self.process.wait(WAIT_S)
        finally:
            self.process.kill()
            for reader in self._readers:
                reader.join(WAIT_S)
            with self.process:  # closes the pipes
                pass

    def send(self, **command: Any) -> None:
        """Write a command."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def ask(self, **command: Any) -> Any:
        """Send a command and return the data of its answer."""
        self._next += 1
        name = f"ask-{self._next}"
        self.send(id=name, **command)
        answer = self.until(lambda event: event["type"] == "response" and event.get("id") == name)
        assert answer["success"], answer
        return answer.get("data")

    def until(self, condition: Callable[[Event], bool]) -> Event:
        """Read on until an event; returns it."""
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                event = self._arrived.get(timeout=max(0.1, deadline - time.monotonic()))
            except queue.Empty:
                event = None
            assert event is not None, f"pi has ended or is silent; it said:\n{''.join(self._said)}\n{self._tail()}"
            self.seen.append(event)
            if event["type"] == "extension_ui_request" and (answer := self._answer(event)):
                self.send(type="extension_ui_response", id=event["id"], **answer)
            if condition(event):
                return event

    def until_type(self, kind: str) -> Event:
        """Read on until an event of a type."""
        return self.until(lambda event: event["type"] == kind)

    def notice(self) -> str:
        """The next notice for the person."""
        notice: str = self.until(lambda event: event.get("method") == "notify")["message"]
        return notice

    def prompt(self, message: str) -> list[Event]:
        """Say something and wait until the agent has nothing more to do; returns what happened."""
        start = len(self.seen)
        self.ask(type="prompt", message=message)
        self.until_type("agent_settled")
        return self.seen[start:]

    def command(self, line: str) -> list[Event]:
        """Run a command of an extension to its end."""
        start = len(self.seen)
        self.ask(type="prompt", message=line)
        return self.seen[start:]

    def _answer(self, event: Event) -> dict[str, Any] | None:
        if event["method"] not in ("select", "confirm", "input", "editor"):
            return None
        for option in event.get("options", ()):
            if option.startswith(self.choices):
                return {"value": option}
        return self.answers.get(event["method"], {"cancelled": True})

    def _tail(self) -> str:
        return "\n".join(json.dumps(event)[:300] for event in self.seen[-8:])

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._arrived.put(json.loads(line))
        self._arrived.put(None)

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self._said.extend(self.process.stderr)


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
