"""A user with sessions on disk, who runs the command: in a pipe, in the background, or at a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pi_subagents.testing import SCRIPTED_AGENT
from pi_subagents.trust import Decisions
from tests.kit import command
from tests.kit.sessions import Shelf
from tests.kit.waiting import PATIENCE_S

SOURCE = Path(__file__).parents[3] / "src"
TIMEOUT_S = PATIENCE_S


class Desk:
    """The project, the user's home, and the command."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        (self.project / ".pi").mkdir(parents=True)
        self.home = root / "home"
        self.home.mkdir()
        Decisions(self.home / ".pi" / "agent").trust(self.project)
        self.shelf = Shelf(self.project, self.home / ".pi" / "agent")

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PYTHONPATH": str(SOURCE),
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONUTF8": "1",
            "TERM": "xterm-256color",
            **dict([SCRIPTED_AGENT]),
        }

    def run(
        self, *arguments: str, stdin: str = "", cwd: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> Done:
        """Run `sessions` with these arguments."""
        return self.call("sessions", *arguments, stdin=stdin, cwd=cwd, variables=variables)

    def call(
        self, *arguments: str, stdin: str = "", cwd: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> Done:
        """Run the command with these arguments."""
        environ = {**self.environ, **(variables or {})}
        done = command.run(*arguments, cwd=cwd or self.project, environ=environ, stdin=stdin)
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        """Start the command with these arguments and leave it running."""
        return subprocess.Popen(
            command.argv(*arguments),
            cwd=cwd or self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def at_terminal(
        self, *arguments: str, columns: int = 120, typed: str = "", variables: Mapping[str, str] | None = None
    ) -> Done:
        """Run `sessions` at a terminal of that width; what it prints on both channels is one text."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        process = subprocess.Popen(
            command.argv("sessions", *arguments),
            cwd=self.project,
            env={**self.environ, **(variables or {})},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        os.write(master, typed.encode())
        text = _read_all(master)
        os.close(master)
        return Done(process.wait(TIMEOUT_S), text, "")


class Done:
    """How a command ended."""

    def __init__(self, exit_code: int, out: str, err: str) -> None:
        self.exit_code = exit_code
        self.out = out
        self.err = err

    def json(self) -> Any:
        return json.loads(self.out)


def _read_all(master: int) -> str:
    data = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not piece:
            break
        data += piece
    return data.decode(errors="replace").replace("\r\n", "\n")
