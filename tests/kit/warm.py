"""Programs of ours that tests start begin warm: forked by an interpreter that has their modules already.

`install` puts `Popen` in the place of `subprocess.Popen`. It is the same, but for the command and for programs of the
tests themselves, which `tests.kit.warm_server` forks. What only a new interpreter can do (other options, variables that
it reads at its start, another locale, other functions before it than those of `tests.kit.before`) is left to a new one,
and so is everything in a test marked `cold`.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.kit import before
from tests.kit.warm_server import CLONE_CALLS, HEADER

_REPOSITORY = Path(__file__).parents[2]
_SOURCE = str(_REPOSITORY / "src")
_HONOURED = {
    "PYTHONPATH": (_SOURCE, f"{_SOURCE}{os.pathsep}{_REPOSITORY}"),
    "PYTHONUTF8": ("1",),
    "PYTHONIOENCODING": ("utf-8",),
    "PYTHONDONTWRITEBYTECODE": ("", "1"),
    "PYTHONUNBUFFERED": ("", "1"),
}
"""Variables for the interpreter that change nothing for a program forked by the server."""


class _Start(NamedTuple):
    """What `subprocess.Popen` hands down to be executed, in its order."""

    args: Any
    executable: Any
    preexec_fn: Callable[[], None] | None
    close_fds: bool
    pass_fds: Sequence[int]
    cwd: Any
    env: Mapping[str, str] | None
    startupinfo: Any
    creationflags: int
    shell: bool
    p2cread: int
    p2cwrite: int
    c2pread: int
    c2pwrite: int
    errread: int
    errwrite: int
    restore_signals: bool
    gid: Any
    gids: Any
    uid: Any
    umask: int
    start_new_session: bool
    process_group: int


class Popen(subprocess.Popen):  # type: ignore[type-arg]
    """A process, warm where that makes no difference but the time."""

    is_cold = False

    def _execute_child(self, *values: Any) -> None:
        start = _Start(*values)
        request = None if Popen.is_cold else _request(start)
        if request is None:
            super()._execute_child(*values)  # type: ignore[misc]
            return
        own = enumerate((start.p2cread, start.c2pwrite, start.errwrite))
        streams = [number if fd == -1 else fd for number, fd in own]
        self.pid = _Server.running().start(request, [*streams, *start.pass_fds])
        self._child_created = True
        self._close_pipe_fds(*values[10:16])  # type: ignore[attr-defined]


def install() -> None:
    """From here on programs of ours begin warm, where the system can do that."""
    if sys.platform == "linux" and platform.machine() in CLONE_CALLS:
        subprocess.Popen = Popen  # type: ignore[misc]


def _request(start: _Start) -> dict[str, Any] | None:
    """What to ask the server for; None if only a new interpreter will do."""
    environ = dict(os.environ if start.env is None else start.env)
    words = [] if start.shell or isinstance(start.args, str | bytes) else [os.fsdecode(word) for word in start.args]
    if words[:1] != [sys.executable] or not _is_plain(start) or not _is_usual(environ):
        return None
    is_safe = words[1:2] == ["-P"]
    option, module, *argv = [*words[2 if is_safe else 1 :], "", ""]
    if option != "-m" or not (module == "pi_subagents" or module.startswith("tests.")):
        return None
    cwd = os.fspath(start.cwd or os.getcwd())  # noqa: PTH109 - bytes stay bytes
    return {
        "module": module,
        "argv": argv[:-2],
        "environ": environ,
        "cwd": os.fsdecode(cwd),
        "path": [] if is_safe else [os.fsdecode(cwd)],
        "newSession": start.start_new_session,
        "before": start.preexec_fn.__name__ if start.preexec_fn else None,
        "numbers": [0, 1, 2, *start.pass_fds],
    }


def _is_plain(start: _Start) -> bool:
    """Whether nothing is to be done in the child before it begins that the server cannot do."""
    others = (start.executable, start.gid, start.gids, start.uid)
    if start.preexec_fn is not None and start.preexec_fn not in vars(before).values():
        return False
    is_there = start.cwd is None or Path(os.fsdecode(start.cwd)).is_dir()
    return is_there and others == (None,) * len(others) and (start.umask, start.process_group) == (-1, -1)


def _is_usual(environ: Mapping[str, str]) -> bool:
    """Whether the interpreter would start with these variables as the server did."""
    if "PYTHONUTF8" not in environ and ("LC_ALL" in environ or not environ.get("LANG", "UTF-8").endswith("UTF-8")):
        return False
    return all(value in _HONOURED.get(name, ()) for name, value in environ.items() if name.startswith("PYTHON"))


class _Server:
    """The process that forks, one for all tests of a worker."""

    _running: _Server | None = None

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._lock = threading.Lock()
        environ = {"PATH": os.environ["PATH"], "PYTHONUTF8": "1", "PYTHONPATH": f"{_SOURCE}{os.pathsep}{_REPOSITORY}"}
        with theirs:
            argv = [sys.executable, "-P", str(Path(__file__).with_name("warm_server.py")), str(theirs.fileno())]
            null = subprocess.DEVNULL
            self._process = subprocess.Popen(argv, pass_fds=[theirs.fileno()], env=environ, cwd="/", stdin=null)

    @classmethod
    def running(cls) -> _Server:
        if cls._running is None:
            cls._running = cls()
        return cls._running

    def start(self, request: dict[str, Any], fds: list[int]) -> int:
        """Have a program forked; its process id."""
        body = json.dumps(request).encode()
        with self._lock:
            socket.send_fds(self._socket, [HEADER.pack(len(body))], fds)
            self._socket.sendall(body)
            (pid,) = struct.unpack("!i", self._socket.recv(4))
        assert pid > 0, "the server could not fork"
        return int(pid)
