"""The stand-in agent itself: a program of its own that no module imports, played by `testing.agent`.

Asked for RPC mode it takes commands as `pi` does: the script is in the prompt, and the end of its input is its own.
Standard library only and nothing slow to load: it starts once for every run of a test.
"""

from __future__ import annotations

import _thread
import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

_BLOCK_BYTES = 1 << 20
_POLL_S = 0.005
_NAP_S = 0.1
_LIFETIME_S = 600
"""What is left behind ends by itself some time, should a test fail to see to it."""


def main() -> None:
    """Play the script to its end, or say which version it stands for, or which models there are."""
    if "--version" in sys.argv:
        sys.stdout.write("0.87.1\n")
        return
    if "--help" in sys.argv:
        sys.stdout.write("  --mode <mode>  Output mode: text (default), json, or rpc\n")
        return
    if "--list-models" in sys.argv:
        _list_models(os.environ.get("PI_SUBAGENTS_MODELS", "").split())
        return
    if "rpc" in sys.argv:
        _Conversation().play()
        return
    given = os.environ.get("PI_SUBAGENTS_SCRIPT")
    _perform(sys.stdin.read() if given is None else given)


def _perform(prompt: str) -> None:
    try:
        actions = json.loads(prompt)
    except ValueError:
        actions = None
    if not isinstance(actions, list):
        _print(_answer(prompt), {"type": "agent_end"}, {"type": "agent_settled"})
        return
    for verb, *arguments in actions:
        _VERBS[verb](*arguments)


class _Conversation:
    """RPC mode: commands are heard in a second thread while the script is played in the first."""

    def __init__(self) -> None:
        self._prompted = _thread.allocate_lock()
        self._prompted.acquire()
        self._prompt = ""

    def play(self) -> NoReturn:
        warnings.simplefilter("ignore")  # a script may fork, and a second thread is no obstacle to that
        _thread.start_new_thread(self._listen, ())
        while True:  # the end comes with the end of the input, or by a signal
            self._prompted.acquire()
            _settled.clear()
            _print({"type": "agent_start"})  # as pi does at once; one that never begins is ended after a while
            _perform(os.environ.get("PI_SUBAGENTS_SCRIPT", self._prompt))
            if not _settled:
                os._exit(0)

    def _listen(self) -> None:
        for line in sys.stdin.buffer:
            command = json.loads(line)
            self._heed(command, command["type"])
        os._exit(0)

    def _heed(self, command: dict[str, Any], kind: str) -> None:
        if kind == "abort" and not _deaf:
            _print({"type": "message_end", "message": {"role": "assistant", "content": [], "stopReason": "aborted"}})
            _print({"type": "agent_end"}, {"type": "agent_settled"})
        if kind == "switch_session":
            _sessions.append(command["sessionPath"])
        data = {"sessionId": "scripted", "sessionFile": _sessions[-1]} if kind == "get_state" else None
        _print({"type": "response", "id": command.get("id"), "command": kind, "success": True, "data": data})
        if kind == "prompt":
            self._prompt = command["message"]
            self._prompted.release()
        elif kind == "steer":
            _heard.append(command["message"])


_heard: list[str] = []
_deaf: list[bool] = []
_settled: list[bool] = []
_sessions: list[str | None] = [sys.argv[sys.argv.index("--session") + 1] if "--session" in sys.argv else None]


def _print(*records: dict[str, Any]) -> None:
    _write_all(1, "".join(f"{json.dumps(record)}\n" for record in records).encode())


def _answer(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop"}
    return {"type": "message_end", "message": message}


def _repeat_steering() -> None:
    while not _heard:
        time.sleep(_POLL_S)
    _print(_answer(_heard.pop(0)))


def _list_models(names: list[str]) -> None:
    rows = [("provider", "model"), *(name.split("/", 1) for name in names)]
    table = "".join(f"{provider}  {model}  200K  8.2K  yes  no\n" for provider, model in rows)
    _write_all(1, (table if names else "No models available.\n").encode())


def _write_all(fd: int, data: bytes, times: int = 1) -> None:
    if b'"agent_settled"' in data:
        _settled.append(True)
    most = max(1, _BLOCK_BYTES // max(1, len(data)))
    while times > 0:
        count = min(times, most)
        block = memoryview(data * count)
        while block:
            block = block[os.write(fd, block) :]
        times -= count


def _wait_for(path: str) -> None:
    while not os.path.exists(path):  # noqa: PTH110 - pathlib would double the start-up time
        time.sleep(_POLL_S)


def _pause(seconds: float) -> None:
    """In short sleeps: a signal that comes just before a sleep is answered only after it."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _NAP_S))


def _answer_sigterm(record: str, exit_code: int) -> None:
    def answer(*_: object) -> NoReturn:
        _write_all(1, f"{record}\n".encode())
        os._exit(exit_code)

    signal.signal(signal.SIGTERM, answer)


def _leave_behind(daemon: bool, stubborn: bool, holds_output: bool) -> None:
    ready, tell_ready = os.pipe()
    child = os.fork()
    if child == 0:
        if daemon:
            os.setsid()
            if os.fork():
                os._exit(0)
        _live_on(stubborn, holds_output, tell_ready)
    os.close(tell_ready)
    os.read(ready, 1)
    if daemon:
        os.waitpid(child, 0)


def _live_on(stubborn: bool, holds_output: bool, tell_ready: int) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN if stubborn else signal.SIG_DFL)
    if not holds_output:
        _close_output()
    os.write(tell_ready, b".")
    time.sleep(_LIFETIME_S)
    os._exit(0)


def _count_input(chunk_bytes: int, pause_s: float) -> None:
    total = 0
    while chunk := os.read(0, chunk_bytes):
        total += len(chunk)
        time.sleep(pause_s)
    _write_all(1, f"read {total} bytes\n".encode())


def _tell(variable: str, way: str, pause_s: float, half_only: bool) -> None:
    value = os.environ[variable]
    halves = [value[: len(value) // 2], "" if half_only else value[len(value) // 2 :]]
    if way == "delta":
        records = [{"type": "text_delta", "delta": half} for half in halves]
        pieces = [json.dumps({"type": "message_update", "assistantMessageEvent": record}) + "\n" for record in records]
    elif way == "message":
        content = [{"type": "text", "text": f"{variable}={value}"}]
        message = {"role": "toolResult", "toolCallId": "1", "toolName": "bash", "content": content}
        pieces = [json.dumps({"type": "message_end", "message": message}) + "\n"]
    elif way == "session":
        _append_to_session(f"{variable}={value}\n")
        return
    else:
        pieces = [f"{variable}={halves[0]}", f"{halves[1]}\n"]
    for piece in pieces:
        _write_all(2 if way == "stderr" else 1, piece.encode())
        time.sleep(pause_s)


def _append_to_session(text: str) -> None:
    fd = os.open(_sessions[-1] or os.devnull, os.O_WRONLY | os.O_APPEND)
    _write_all(fd, text.encode())
    os.close(fd)


def _close_output() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


_VERBS: dict[str, Callable[..., object]] = {
    "write": lambda text, times: _write_all(1, text.encode(), times),
    "write_bytes": lambda data, times: _write_all(1, bytes.fromhex(data), times),
    "complain": lambda text, times: _write_all(2, text.encode(), times),
    "pause": _pause,
    "touch": lambda path: os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)),
    "wait_for": _wait_for,
    "ignore_sigterm": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "answer_sigterm": _answer_sigterm,
    "leave_behind": _leave_behind,
    "count_input": _count_input,
    "tell": _tell,
    "repeat_steering": _repeat_steering,
    "ignore_abort": lambda: _deaf.append(True),
    "close_output": _close_output,
    "exit": os._exit,
    "die_of": lambda number: os.kill(os.getpid(), number),
}


if __name__ == "__main__":
    main()
