"""Forks `python -m MODULE` from an interpreter that has our modules already.

Started as a program by `tests.kit.warm`, with a socket on which requests come. What it forks becomes the child of
whoever started it (`CLONE_PARENT`), with a memory, descriptors, an environment and a directory of its own: whoever
waits for it, kills it or looks at it meets a process like any other, that began within milliseconds.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import platform
import runpy
import signal
import socket
import struct
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any

from tests.kit import before

CLONE_CALLS = {"x86_64": 56, "aarch64": 220}
HEADER = struct.Struct("!I")
"""How long a request is."""

MAX_FDS = 64
_CLONE_PARENT = 0x8000

_PRELOADED = (
    *("msgspec", "sqlite3", "asyncio", "ruamel.yaml", "rich.console", "rich.markdown", "rich.live"),
    *("pi_subagents.delegation.delegation", "pi_subagents.tools", "pi_subagents.surfaces.cli.app"),
    *("pi_subagents.surfaces.cli.run", "pi_subagents.surfaces.cli.call", "pi_subagents.surfaces.cli.markdown"),
    *("pi_subagents.surfaces.bridge", "pi_subagents.diagnosis", "pi_subagents.wizard", "pi_subagents.installing.mcp"),
    *("pi_subagents.export", "pi_subagents.runs.background", "pi_subagents.background.keeper"),
    *("pi_subagents.surfaces.cli.sessions", "pi_subagents.surfaces.cli.background"),
)
_MCP = ("pi_subagents.surfaces.mcp.http", "pi_subagents.surfaces.mcp.stdio")
_PRELOADED_FOR = {"mcp": _MCP, "tests.surfaces.mcp.bounded_server": _MCP, "tests.surfaces.cli.forked_commands": _MCP}
"""What takes long to load and few need, loaded when the first of them comes."""


def main() -> None:
    """Serve until the other side closes the socket; in a child, become the program that was asked for."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    _load(_PRELOADED)
    while (request := receive(requests)) is not None:
        for word in {request["module"], *request["argv"][:1]} & {*_PRELOADED_FOR}:
            _load(_PRELOADED_FOR[word])
        child = _fork_sibling()
        if child == 0:
            requests.close()
            _become(request)
        for fd in request["fds"]:
            os.close(fd)
        requests.sendall(struct.pack("!i", child))
    os._exit(0)


def receive(requests: socket.socket) -> dict[str, Any] | None:
    """The next request; `fds` are the descriptors that came with it."""
    data, fds, _flags, _address = socket.recv_fds(requests, HEADER.size, MAX_FDS)
    if not data:
        return None
    (length,) = HEADER.unpack(data)
    body = b""
    while len(body) < length:
        body += requests.recv(length - len(body))
    request: dict[str, Any] = json.loads(body)
    return {**request, "fds": fds}


def _load(modules: tuple[str, ...]) -> None:
    for module in modules:
        with suppress(ImportError):
            import_module(module)
    gc.collect()
    gc.freeze()  # so that a child's collector leaves these pages shared


def _fork_sibling() -> int:
    """As `os.fork`, but for the parent: it is ours too."""
    python = ctypes.pythonapi
    clone = [ctypes.c_long(word) for word in (CLONE_CALLS[platform.machine()], _CLONE_PARENT | signal.SIGCHLD)]
    python.PyOS_BeforeFork()
    pid = python.syscall(*clone, *[ctypes.c_long(0)] * 4)
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return int(pid)


def _become(request: dict[str, Any]) -> None:
    """Be `python -m MODULE ARGUMENTS` to its end."""
    if request["newSession"]:
        os.setsid()
    _place_descriptors(request["fds"], request["numbers"])
    os.environ.clear()
    os.environ.update(request["environ"])
    if not any(map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))):
        os.environ["LC_CTYPE"] = "C.UTF-8"  # as the interpreter does when it starts
    os.chdir(request["cwd"])
    sys.path[:0] = request["path"]
    if name := request["before"]:
        getattr(before, name)()
    _open_streams()
    sys.argv = [request["module"], *request["argv"]]
    os._exit(_exit_code(request["module"]))


def _place_descriptors(fds: list[int], numbers: list[int]) -> None:
    beyond = max([*fds, *numbers]) + 1
    moved = [os.dup2(fd, beyond + place, inheritable=False) for place, fd in enumerate(fds)]
    for fd, number in zip(moved, numbers, strict=True):
        os.dup2(fd, number)
    kept = sorted(numbers)
    for low, high in zip(kept, [*kept[1:], beyond + len(moved)], strict=True):
        os.closerange(low + 1, high)


def _open_streams() -> None:
    """As the interpreter does when it starts in UTF-8 mode."""
    errors = {"stdin": "surrogateescape", "stdout": "surrogateescape", "stderr": "backslashreplace"}
    for number, (name, on_error) in enumerate(errors.items()):
        buffering = 1 if name == "stderr" or os.isatty(number) else -1
        stream = open(number, "w" if number else "r", buffering, "utf-8", on_error, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _exit_code(module: str) -> int:
    """Run a module to the end of its threads; what is left to do then is what the interpreter does when it ends."""
    code: Any = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - shown as the interpreter would show it
        sys.excepthook(*sys.exc_info())
        code = 1
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = 120
    with suppress(OSError):
        sys.stderr.flush()
    return int(code or 0)


if __name__ == "__main__":
    main()
