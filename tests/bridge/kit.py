"""The bridge in a process of its own, and the extension's side of the conversation, spoken by a test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from pi_subagents import __version__
from pi_subagents.testing import Action
from tests.kit.desks import HostDesk
from tests.kit.json_lines import JsonLines, Message
from tests.kit.waiting import PATIENCE_S
from tests.process.kit import tasks

WAIT_S = PATIENCE_S
SESSION = "01990000-0000-7000-8000-000000000001"
HELLO = {"protocol": 1, "extension": __version__, "pi": "0.87.1", "path": "", "mode": "rpc"}


def plain(line: list[list[str]]) -> str:
    """A line without its colours."""
    return "".join(text for _style, text in line)


class Desk(HostDesk):
    """Where bridges are started."""

    server = "bridge"

    @contextmanager
    def bridge(self, *, greet: bool = True, **session: Any) -> Iterator[Extension]:
        """A bridge that has been greeted and knows of a session; it is gone at the end of the block."""
        argv = [sys.executable, "-m", "pi_subagents", "bridge"]
        extension = Extension(argv, self.stage.project, self.environ)
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

    def reopened(self, *runs: Message) -> AbstractContextManager[Extension]:
        """A bridge of a conversation that is opened again, whose log has these entries of runs."""
        return self.bridge(reason="resume", entries=[{"type": "pi-subagents", "data": run} for run in runs])


class Extension(JsonLines):
    """Speaks for the extension; requests of the bridge are answered as `answers` says."""

    def __init__(self, argv: list[str], cwd: Path, environ: Mapping[str, str]) -> None:
        super().__init__(argv, cwd, environ)
        self.answers: dict[str, Callable[[Message], Any]] = {}
        self._number = 0

    def send(self, message: Message) -> None:
        """Put a message on the wire."""
        super().send({"jsonrpc": "2.0", **message})

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
        return self.hear_next(wanted)

    def next(self, within_s: float = WAIT_S) -> Message | None:
        """The next message; None at the end of the conversation."""
        message = super().next(within_s)
        if message and "id" in message and (reply := self.answers.get(message.get("method", ""))):
            self.send({"id": message["id"], "result": reply(message["params"])})
        return message

    def told(self, method: str) -> list[Message]:
        """The parameters of everything that was said with a method until now."""
        return [message["params"] for message in self.said if message.get("method") == method]

    def begin_call(self, name: str, arguments: Any, call: str = "c") -> int:
        """Call a tool, whose result comes some time."""
        return self.begin("tool/call", {"call": call, "name": name, "arguments": arguments})

    def begin_tasks(self, *scripts: list[Action], **fields: Any) -> int:
        """The same of a delegation, with one task for each script."""
        return self.begin_call("delegate_to_subagents", tasks(*scripts, **fields))

    def call(self, name: str, arguments: Any, call: str = "call-1") -> Message:
        """Call a tool and wait for its result."""
        result: Message = self.result(self.begin_call(name, arguments, call))
        return result

    def delegate(self, *scripts: list[Action], **fields: Any) -> Message:
        """The same of a delegation."""
        return self.call("delegate_to_subagents", tasks(*scripts, **fields))

    def run_command(self, name: str, arguments: str = "") -> None:
        """Run a command that somebody typed, to its end."""
        assert self.ask("command/run", {"command": name, "arguments": arguments}) is None

    def output(self, session_id: str) -> Message:
        """What `get_subagent_output` says of a session."""
        return self.call("get_subagent_output", {"sessionId": session_id})

    def hang_up(self) -> int:
        """Close the bridge's input and hear it to its end; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        while self.next() is not None:
            pass
        return self.process.wait(WAIT_S)

    def deafen(self) -> None:
        """Read no more of what the bridge says, as if pi were gone, while its input stays open."""
        self.is_deaf = True
        with suppress(BrokenPipeError):  # the bridge may be the first to notice
            while self._reading.is_alive():
                self.tell("unheard/of", {})
                self.begin("no/such", {})
                self._reading.join(0.05)
