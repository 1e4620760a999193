"""The command many times over, each time in a process of its own: forked by one that has all modules already.

Started as a program by `Press`. It reads one JSON request per line and answers with one line when the command has
ended: `{"argv", "cwd", "env", "stdin", "stdout", "stderr", "limitS"}` gives `{"exit"}`. The exit code is negative for a
signal, and null for a command that had to be killed because it did not end. What runs in the child is what
`python -P -m pi_subagents` runs.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import runpy
import select
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

_MAX_MEMORY_BYTES = 3 << 29
_MAX_FILE_BYTES = 256 << 20
"""Whoever reads /dev/zero to its end shall fail alone, and not take the machine along."""

_PRELOADED = (
    *("click", "msgspec", "sqlite3", "asyncio", "ruamel.yaml", "rich.console", "rich.markdown", "rich.live"),
    *("pi_subagents.delegation.delegation", "pi_subagents.tools", "pi_subagents.surfaces.cli.app"),
    *("pi_subagents.surfaces.cli.run", "pi_subagents.surfaces.cli.call"),
    *("pi_subagents.surfaces.bridge", "pi_subagents.diagnosis"),
    *("pi_subagents.wizard", "pi_subagents.installing.mcp", "pi_subagents.export", "pi_subagents.runs.background"),
)


def main() -> None:
    """Serve until there are no more requests; in a child, become the command."""
    for module in _PRELOADED:
        with suppress(ImportError):
            import_module(module)
    gc.freeze()
    requests, answers = os.fdopen(os.dup(0), "rb", buffering=0), os.dup(1)
    while line := requests.readline():
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            os.close(answers)
            requests.close()
            _become_the_command(request)
            return
        code = _wait(child, request["limitS"])
        os.write(answers, json.dumps({"exit": code}).encode() + b"\n")
    os._exit(0)


def _become_the_command(request: dict[str, Any]) -> None:
    os.setsid()
    for number, name, flags in (
        (0, "stdin", os.O_RDWR if request["stdin"].startswith("/dev/") else os.O_RDONLY),
        (1, "stdout", os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        (2, "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        fd = os.open(request[name], flags, 0o600)
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MAX_FILE_BYTES, _MAX_FILE_BYTES))
    sys.argv = ["pi-subagents", *request["argv"]]
    # What follows, up to the end of the interpreter, is what `python -m` does.
    runpy.run_module("pi_subagents", run_name="__main__", alter_sys=True)


def _wait(child: int, limit_s: float) -> int | None:
    pidfd = os.pidfd_open(child)
    ended, _, _ = select.select([pidfd], [], [], limit_s)
    os.close(pidfd)
    if not ended:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if ended else None


if __name__ == "__main__":
    main()
