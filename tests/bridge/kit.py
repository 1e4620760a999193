"""The bridge in a process of its own, and the extension's side of the conversation, spoken by a test."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from pi_subagents import __version__
from pi_subagents.testing import MODELS_VARIABLE
from tests.kit.processes import command_line
from tests.kit.waiting import PATIENCE_S
from tests.kit.workplace import Workplace
from tests.process.kit import MODEL, furnish

WAIT_S = PATIENCE_S
SESSION = "01990000-0000-7000-8000-000000000001"
HELLO = {"protocol": 1, "extension": __version__, "pi": "0.87.1", "path": "", "mode": "rpc"}

Message = dict[str, Any]


@dataclass
class Desk:
    """A project with a scripted agent, a profile and a preset, where bridges are started."""

    stage: Workplace
    more: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        furnish(self.stage)

    @property
    def environ(self) -> dict[str, str]:
        return {**self.stage.environ, MODELS_VARIABLE: f"{MODEL} acme/small", **self.more}

    @contextmanager
    def bridge(self, *, greet: bool = True, **session: Any) -> Iterator[Extension]:
        """A bridge that has been greeted and knows of a session; it is gone at the end of the block."""
        process = subprocess.Popen(
            [sys.executable, "-m", "pi_subagents", "bridge"],
            cwd=self.stage.project,
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        extension = Extension(process)
        try:
            if greet:
                extension.ask("hello", HELLO)
                extension.tell("session/start", self.session(**session))
            yield extension
        finally:
            extension.close()

    def session(self, **more: Any) -> Message:
        """The parameters of `session/start`."""
        usual = {"reason": "startup", "sessionId": SESSION, "cwd": str(self.stage.project), "trusted": True}
        return {**usual, "entries": [], "told": [], **more}

    def agents(self) -> list[int]:
        """The processes of agents, wrappers included; bridges are not meant."""
        return [pid for pid in self.stage.processes() if b"pi_subagents\0bridge" not in command_line(pid)]


class Extension:
    """Speaks for the extension; everything the bridge says is kept in `said`, in order."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.said: list[Message] = []
        self.answers: dict[str, Callable[[Message], Any]] = {}
        self._unheard: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._number = 0
        self._is_deaf = False
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if self._is_deaf:
                self.process.stdout.close()
                return
            self._unheard.put(json.loads(line))
        self._unheard.put(None)

    def send(self, message: Message) -> None:
        """Put a message on the wire."""
        self.send_raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def tell(self, method: str, params: Message) -> None:
        """A notification."""
        self.send({"method": method, "params": params})

    def begin(self, method: str, params: Message) -> int:
        """A request, whose answer comes some time."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        return self._number

    def ask(self, method: str, params: Message) -> Any:
        """A request and its result."""
        return self.result(self.begin(method, params))

    def result(self, number: int) -> Any:
        """The result of a request; an error fails the test."""
        answer = self.answer(number)
        assert "error" not in answer, answer
        return answer["result"]

    def answer(self, number: int) -> Message:
        """The answer to a request, whatever it is."""
        return self.hear(lambda message: message.get("id") == number and "method" not in message)

    def heard(self, method: str, **params: Any) -> Message:
        """The parameters of a message with these parameters, now or later."""
        heard: Message = self.hear(
            lambda message: message.get("method") == method and params.items() <= message["params"].items()
        )["params"]
        return heard

    def hear(self, wanted: Callable[[Message], bool]) -> Message:
        """The first message that is wanted, said already or yet to be said."""
        for message in list(self.said):
            if wanted(message):
                return message
        deadline = time.monotonic() + WAIT_S
        while (latest := self.next(deadline - time.monotonic())) is not None:
            if wanted(latest):
                return latest
        raise AssertionError(f"the bridge hung up after {self.said}")

    def next(self, within_s: float = WAIT_S) -> Message | None:
        """The next message; None at the end of the conversation."""
        message = self._unheard.get(timeout=max(within_s, 0.001))
        if message is not None:
            self.said.append(message)
            if "id" in message and (reply := self.answers.get(message.get("method", ""))):
                self.send({"id": message["id"], "result": reply(message["params"])})
        return message

    def told(self, method: str) -> list[Message]:
        """The parameters of everything that was said with a method until now."""
        return [message["params"] for message in self.said if message.get("method") == method]

    def call(self, name: str, arguments: Any, call: str = "call-1") -> Message:
        """Call a tool and wait for its result."""
        result: Message = self.ask("tool/call", {"call": call, "name": name, "arguments": arguments})
        return result

    def hang_up(self) -> int:
        """Close the bridge's input and hear it to its end; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        while self.next() is not None:
            pass
        return self.process.wait(WAIT_S)

    def deafen(self) -> None:
        """Read no more of what the bridge says, as if pi were gone, while its input stays open."""
        assert self.process.stdout is not None
        self._is_deaf = True
        with suppress(BrokenPipeError):  # the bridge may be the first to notice
            while self._reading.is_alive():
                self.tell("unheard/of", {})
                self.begin("no/such", {})
                self._reading.join(0.05)

    def close(self) -> None:
        """Make sure that nothing is left of the bridge."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self.process.wait(PATIENCE_S)
            self._reading.join(PATIENCE_S)
            self.process.stdout.close()
