"""A made-up machine: a PATH with nothing on it but stand-ins for node, npm and pi, and somebody at a terminal there."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pi_subagents
from tests.kit import command
from tests.kit.before import own_terminal
from tests.kit.command import argv
from tests.kit.waiting import PATIENCE_S
from tests.kit.workplace import Workplace

TIMEOUT_S = PATIENCE_S
PACKAGE_HOME = Path(pi_subagents.__file__).parents[1]

# Node that runs pi: what follows its own name decides what is asked of which of the two.
NODE = """#!/bin/sh
case "$1" in
--version) echo "v{version}"; exit ;;
-p) echo "{version} $0"; exit ;;
esac
case "$2" in
--version) {version_answer} ;;
--list-models) {models_answer} ;;
esac
"""
PI = "#!/usr/bin/env node\n// stands for pi\n"
NO_MODELS = "echo 'No models available. Use /login to log into a provider via OAuth or API key.'"
TWO_MODELS = """printf '%s\\n' 'provider   model    context  max-out  thinking  images' \\
    'anthropic  m-large  200K     8.2K     yes       no' 'zai        m-small  128K     8.2K     no        no'"""


@dataclass
class Machine:
    """Directories of a user who has installed nothing yet, and the variables they start commands with."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder in (self.bin, self.home, self.project):
            folder.mkdir(parents=True)

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def agent_dir(self) -> Path:
        return self.home / ".pi" / "agent"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def data(self) -> Path:
        return self.root / "data"

    def write(self, path: Path, text: str, mode: int = 0o644) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path

    def add_program(self, name: str, text: str = "#!/bin/sh\n", folder: Path | None = None) -> Path:
        return self.write((folder or self.bin) / name, text, 0o755)

    def add_node(
        self,
        version: str = "22.19.0",
        *,
        pi: str = "echo 0.87.1",
        models: str = TWO_MODELS,
        folder: Path | None = None,
    ) -> Path:
        """A `node` of that version; `pi` and `models` are what the pi it runs does when asked."""
        return self.add_program("node", NODE.format(version=version, version_answer=pi, models_answer=models), folder)

    def add_pi(self, version: str = "22.19.0", *, pi: str = "echo 0.87.1", models: str = TWO_MODELS) -> None:
        """Everything that is needed, in a good version unless told otherwise; see `add_node`."""
        self.add_node(version, pi=pi, models=models)
        self.add_program("pi", PI)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return command.run(*arguments, cwd=self.project, environ=self.environ)

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PYTHONPATH": str(PACKAGE_HOME),
            "PATH": str(self.bin),
            "HOME": str(self.home),
            "PI_SUBAGENTS_DATA_DIR": str(self.data),
            "PYTHONUTF8": "1",
            **self.variables,
        }


@dataclass(frozen=True)
class Diagnosis:
    """What `doctor --json` said."""

    exit_code: int
    findings: list[dict[str, Any]]
    text: str

    def all(self, check: str) -> list[dict[str, Any]]:
        return [finding for finding in self.findings if finding["check"] == check]

    def one(self, check: str) -> dict[str, Any]:
        (finding,) = self.all(check)
        return finding


def diagnose(machine: Machine) -> Diagnosis:
    """Run `doctor --json` on the machine."""
    done = machine.run("doctor", "--json")
    assert done.stdout, done.stderr
    return Diagnosis(done.returncode, json.loads(done.stdout), done.stdout + done.stderr)


PROMPT_ENDS = ("): ", "]: ", "\n> ")
CTRL_C, CTRL_D, ESC = "\x03", "\x04", "\x1b"


class Typist:
    """Answers every prompt of a command with the next line, and keeps what the terminal shows."""

    def __init__(self, at: Machine | Workplace, *arguments: str, columns: int = 0, **variables: str) -> None:
        self._terminal, child_end = pty.openpty()
        if columns:
            fcntl.ioctl(child_end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self._process = subprocess.Popen(
            argv(*arguments),
            cwd=at.project,
            env={**at.environ, **variables},
            stdin=child_end,
            stdout=child_end,
            stderr=child_end,
            start_new_session=True,
            preexec_fn=own_terminal,
        )
        os.close(child_end)
        self._shown = b""

    @property
    def screen(self) -> str:
        return self._shown.decode("utf-8", "replace").replace("\r\n", "\n")

    def answer(self, *lines: str) -> int:
        """Type each line when the command waits for one; returns its exit code."""
        try:
            return self._answer(lines)
        finally:
            os.close(self._terminal)  # which ends whatever still waits for an answer

    def _answer(self, lines: tuple[str, ...]) -> int:
        left = [line if line in (CTRL_C, CTRL_D, ESC) else f"{line}\n" for line in lines]
        deadline = time.monotonic() + PATIENCE_S
        while (heard := self._listen()) is not None:
            assert time.monotonic() < deadline, self.screen
            if not left and lines[-1:] == (CTRL_C,) and not heard and not self.screen.endswith("\n"):
                # Between a prompt and the reading of its answer Ctrl+C may be noticed only with the next key; once the
                # command has had its last word, that key would only be echoed behind it.
                os.write(self._terminal, b"\n")
            elif heard and left and self.screen.endswith(PROMPT_ENDS):
                os.write(self._terminal, left.pop(0).encode())
        assert not left, self.screen
        return self._process.wait(PATIENCE_S)

    def _listen(self) -> bytes | None:
        """What the command prints; empty if it is silent for a while, None when it has gone."""
        if not select.select([self._terminal], [], [], 1.0)[0]:
            return b""
        try:
            heard = os.read(self._terminal, 65536)
        except OSError:
            return None
        self._shown += heard
        return heard
