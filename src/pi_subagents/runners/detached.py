"""Processes that outlive us: on their own, or in panes of tmux, where people can watch them; all of tmux is here.

Inside tmux panes open in a new window of the session one is in; elsewhere in a session of their own on a server of our
own, so that nobody's windows are disturbed. A server that is started here inherits nothing secret.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

from pi_subagents.errors import InvalidCall
from pi_subagents.runners.contract import SpawnFailed

_started: list[subprocess.Popen[bytes]] = []
"""Those that end before we do stay behind as zombies until they are collected."""


def collect_ended() -> None:
    """Let go of those that have ended."""
    _started[:] = [process for process in _started if process.poll() is None]


def start_detached(module: str, arguments: list[str], fds: tuple[int, ...]) -> None:
    """Start a module of ours in a session of its own, without a terminal, with these descriptors only (-1 for none)."""
    collect_ended()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
        pass_fds=[fd for fd in fds if fd >= 0],
    )
    _started.append(process)


SERVER = "pi-subagents"
_CALL_S = 10.0
_PASSED_ON = (
    *("PATH", "HOME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME"),
    *("TMUX", "TMUX_PANE", "TMUX_TMPDIR", "XDG_RUNTIME_DIR"),
)
_FOR_PROGRAMS = ("PYTHONPATH", "XDG_RUNTIME_DIR")
"""A pane has the variables of the tmux server, which can be a stranger to us; these our programs need."""
_SIZE = ("-x", "160", "-y", "48")
"""Until somebody attaches."""


class TmuxPanes:
    """The panes of one call. Any thread may open one."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._is_inside = bool(environ.get("TMUX"))
        self._name = f"{SERVER}-{os.getpid()}"
        self._newest: str | None = None
        self._lock = threading.Lock()

    @property
    def hint(self) -> str:
        """How to look at the panes."""
        if self._is_inside:
            return f"the agents run in panes of the tmux window {self._name}"
        return f"the agents run in tmux panes: tmux -L {SERVER} attach -t {self._name}"

    def check(self) -> None:
        """Raise InvalidCall where there is no tmux."""
        if shutil.which("tmux", path=self._environ.get("PATH")) is None:
            raise InvalidCall(
                "tmux is not installed, but the setting subagents.runner or --tmux asks for it. "
                'Install tmux, or run the agents without it: "runner": "local".'
            )

    def open(self, argv: Sequence[str]) -> str:
        """Run a program in a new pane and return the pane's id; raises SpawnFailed."""
        variables = [f"{name}={value}" for name in _FOR_PROGRAMS if (value := self._environ.get(name))]
        command = ["env", *variables, *argv]
        with self._lock:
            self._newest = self._beside(command) or self._apart(command)
            return self._newest

    def is_open(self, pane: str) -> bool:
        """Whether the program in a pane still runs."""
        return pane in self._tmux("list-panes", "-a", "-F", "#{pane_id}").stdout.split()

    def close(self, pane: str) -> None:
        """Close a pane; its program is told that its terminal is gone."""
        self._tmux("kill-pane", "-t", pane)

    def _beside(self, command: Sequence[str]) -> str | None:
        """A pane in the window that there is already; None if there is none, or no room in it."""
        if self._newest is None:
            return None
        done = self._tmux("split-window", "-d", "-t", self._newest, "-P", "-F", "#{pane_id}", *command)
        if done.returncode != 0:
            return None
        self._tmux("select-layout", "-t", done.stdout.strip(), "tiled")
        return done.stdout.strip()

    def _apart(self, command: Sequence[str]) -> str:
        """A pane in a window of its own."""
        answer = ("-P", "-F", "#{pane_id}")
        if self._is_inside or self._has_session():
            where = () if self._is_inside else ("-t", f"{self._name}:")
            done = self._tmux("new-window", "-d", *where, "-n", self._name, *answer, *command)
        else:
            done = self._tmux("new-session", "-d", "-s", self._name, *_SIZE, *answer, *command)
        if done.returncode != 0:
            raise SpawnFailed(f"tmux could not open a pane: {done.stderr.strip()}")
        return done.stdout.strip()

    def _has_session(self) -> bool:
        return self._tmux("has-session", "-t", f"={self._name}").returncode == 0

    def _tmux(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        server = () if self._is_inside else ("-L", SERVER)
        try:
            return subprocess.run(
                ["tmux", "-u", *server, *arguments],
                env={name: value for name, value in self._environ.items() if name in _PASSED_ON},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_CALL_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SpawnFailed(f"tmux could not be asked: {error}") from error
