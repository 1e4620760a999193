"""An agent that does what it likes: a program of its own, which the victim chose, and whose task names the attack.

Started like `pi`, in JSON or in RPC mode. It knows its run directory from the command line, the victim's home from the
environment, and the attack from its prompt, as JSON: `{"attack": name, "ready": path, "go": path}`; with the last two
it says when it has done it and waits to be let go.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

_HUGE = 1 << 63
_ESCAPE = "\x1b]0;PWNED\x07\x1b[2J\x9b31m"
_HOME = os.environ.get("HOME", "/")


def _run_dir() -> str:
    return os.path.dirname(sys.argv[sys.argv.index("--session") + 1])  # noqa: PTH120


def _write(data: bytes, fd: int = 1) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def _say(*records: Any) -> None:
    _write("".join(json.dumps(record) + "\n" for record in records).encode())


def _message(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "message_end", "message": {"role": "assistant", "content": content, "stopReason": "stop", **more}}


def _text(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def _delta(text: str) -> dict[str, Any]:
    return {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": text}}


# --- what it prints ---------------------------------------------------------


def _garbage() -> None:
    _write(os.urandom(1 << 20))
    _write(b"\n\0\n" * 1000 + b"}{][\n" * 1000, 2)


def _long_lines() -> None:
    _say(_message(_text("long " * (2 << 20))))
    _write(b"x" * (10 << 20) + b"\n")
    _write(
        b'{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"' + b"y" * (10 << 20)
    )
    _write(b"\n")


def _escapes() -> None:
    arguments = {_ESCAPE: _ESCAPE, "command": _ESCAPE}
    call = {"type": "toolCall", "id": _ESCAPE, "name": f"bash{_ESCAPE}", "arguments": arguments}
    _say(_message([*_text(_ESCAPE), call], model=_ESCAPE, provider=_ESCAPE, stopReason="toolUse"))
    _say({"type": "tool_execution_start", "toolCallId": _ESCAPE, "toolName": _ESCAPE, "args": {"path": _ESCAPE}})
    _say(_delta(_ESCAPE))
    _write(f"{_ESCAPE}\nError: {_ESCAPE}\n".encode(), 2)
    _write(f"{_ESCAPE}\n".encode())


def _absurd_numbers() -> None:
    numbers: list[Any] = [_HUGE, -_HUGE, 10**40, 1e308, True, "7", None, [], {}]
    for number in numbers:
        usage = {"input": number, "output": number, "totalTokens": number, "cost": {"total": number}}
        _say(_message(_text("n"), usage=usage, timestamp=number))
        _say({"type": "auto_retry_start", "attempt": number, "maxAttempts": number, "delayMs": number})
        _say({"type": "agent_start", "timestamp": number})
    _write(b'{"type":"message_end","message":{"role":"assistant","content":[],"usage":{"totalTokens":1e999}}}\n')
    _write(b'{"type":"message_end","message":{"role":"assistant","content":[],"usage":{"totalTokens":NaN}}}\n')


def _wrong_kinds() -> None:
    texts: list[Any] = [[None], [{"type": None}], [{"type": "text"}], [{"type": "text", "text": 1}]]
    kinds: list[Any] = [None, 1, "text", [], {}, [[]], *texts]
    for kind in kinds:
        _say({"type": kind}, {"type": "message_end", "message": kind}, _message(kind))
        _say({"type": "agent_end", "messages": kind})
        _say({"type": "tool_execution_end", "toolCallId": kind, "toolName": kind, "result": kind})
    _write(b"[" * 200_000 + b"\n" + b'{"a":' * 50_000 + b"\n")
    _write(b'{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"\\ud800"}]}}\n')


def _many_events() -> None:
    _write(f"{json.dumps(_delta('x' * 20))}\n".encode() * 20_000)


def _environment() -> None:
    text = "\n".join(f"{name}={value}" for name, value in os.environ.items())
    _say(_message(_text(text)), _delta(text))
    _write(text.encode() + b"\n")
    _write(text.encode() + b"\n", 2)
    with open(sys.argv[sys.argv.index("--session") + 1], "a") as session:  # noqa: PTH123
        session.write(json.dumps({"type": "message", "text": text}) + "\n")


# --- what it does to its record ---------------------------------------------


def _replace_by_link(*names: str, to: str = ".bashrc") -> None:
    for name in names:
        path = f"{_run_dir()}/{name}"
        if os.path.lexists(path):
            os.unlink(path)  # noqa: PTH108
        os.symlink(f"{_HOME}/{to}", path)  # noqa: PTH211


def _links() -> None:
    _replace_by_link(
        "stdout.log", "stderr.log", "transcript.log", ".result.json.new", "result.json", "prompt.md", "stop"
    )
    _replace_by_link("child-session.jsonl", "meta.json", to="made-by-agent")
    os.symlink(f"{_HOME}/other", f"{_run_dir()}/agent-dir")  # noqa: PTH211
    _write(b"Error: this goes to a log\n" * 3, 2)
    _write(b"and this to another\n")


def _pipes() -> None:
    for name in ("stderr.log", "transcript.log", ".result.json.new", "stop", "control"):
        path = f"{_run_dir()}/{name}"
        if os.path.lexists(path):
            os.unlink(path)  # noqa: PTH108
        os.mkfifo(path)
    _write(b"Error: this goes to a log\n", 2)


def _delete_record() -> None:
    shutil.rmtree(_run_dir())


def _move_record() -> None:
    os.rename(_run_dir(), f"{_run_dir()}.moved")  # noqa: PTH104


def _forge_journal() -> None:
    with open(f"{_run_dir()}/events.jsonl", "a") as journal:  # noqa: PTH123
        journal.write('{"type":"ended","at":1,"status":"completed","reason":"settled"}\n')
        journal.write('{"type":"ended","at":1,"status":"failed","reason":"exit"}\n')


def _empty_journal() -> None:
    os.truncate(f"{_run_dir()}/events.jsonl", 0)


def _fill_directory() -> None:
    for number in range(500):
        os.mkdir(f"{_run_dir()}/{number}")  # noqa: PTH102


def _lease(change: Callable[[str], Any]) -> Callable[[], None]:
    return lambda: change(f"{_run_dir()}/lease") and None


def _replaced(make: Callable[[str], Any]) -> Callable[[], None]:
    def replace(path: str) -> None:
        os.unlink(path)  # noqa: PTH108
        make(path)

    return _lease(replace)


# --- what it does to processes ----------------------------------------------


def _leave_a_stubborn_daemon() -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        time.sleep(300)
        os._exit(0)
    os.wait()


def _kill_parent() -> None:
    _leave_a_stubborn_daemon()
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(0.2)


def _stop_parent() -> None:
    _leave_a_stubborn_daemon()
    os.kill(os.getppid(), signal.SIGSTOP)


def _kill_everybody_above() -> None:
    # Up to, and without, whoever holds the run: that one has no mark of an agent's.
    _leave_a_stubborn_daemon()
    parent = os.getppid()
    while parent > 1:
        with open(f"/proc/{parent}/environ", "rb") as environ:  # noqa: PTH123
            if b"PI_SUBAGENTS_CHILD=1" not in environ.read():
                break
        with open(f"/proc/{parent}/stat") as stat:  # noqa: PTH123
            above = int(stat.read().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        parent = above


ATTACKS: dict[str, Callable[[], None]] = {
    "prints garbage": _garbage,
    "prints very long lines": _long_lines,
    "prints escapes": _escapes,
    "prints absurd numbers": _absurd_numbers,
    "prints records of the wrong kind": _wrong_kinds,
    "prints very many events": _many_events,
    "prints its environment": _environment,
    "puts links into its record": _links,
    "puts pipes into its record": _pipes,
    "deletes its record": _delete_record,
    "moves its record": _move_record,
    "forges its journal": _forge_journal,
    "empties its journal": _empty_journal,
    "fills its record": _fill_directory,
    "removes the lease": _lease(os.unlink),
    "puts another lease in its place": _replaced(_touch),
    "puts a directory in the place of the lease": _replaced(os.mkdir),
    "puts a link in the place of the lease": _replaced(lambda path: os.symlink("/dev/null", path)),  # noqa: PTH211
    "closes the lease": _lease(lambda path: os.chmod(path, 0)),  # noqa: PTH101
    "kills its parent": _kill_parent,
    "stops its parent": _stop_parent,
    "kills everybody above": _kill_everybody_above,
    "leaves a daemon": _leave_a_stubborn_daemon,
    "answers": lambda: None,
}


def main() -> None:
    """Carry out the attack, and answer as if nothing had happened."""
    if "--list-models" in sys.argv:
        _write(b"provider  model\nacme  large  200K  8.2K  yes  no\n")
        return
    if "rpc" not in sys.argv:
        _work(sys.stdin.read())
        return
    for line in sys.stdin.buffer:
        command = json.loads(line)
        data = {"sessionId": "hostile"} if command["type"] == "get_state" else None
        _say({"type": "response", "id": command.get("id"), "command": command["type"], "success": True, "data": data})
        if command["type"] == "prompt":
            _work(command["message"])


def _work(prompt: str) -> None:
    order = json.loads(prompt)
    _say({"type": "agent_start"})
    ATTACKS[order["attack"]]()
    if "ready" in order:
        _touch(order["ready"])
        while not os.path.exists(order["go"]):  # noqa: PTH110
            time.sleep(0.02)
    _say(_message(_text("Done.")), {"type": "agent_end", "messages": [], "willRetry": False}, {"type": "agent_settled"})


if __name__ == "__main__":
    main()
