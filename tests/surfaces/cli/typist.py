"""Somebody at a real terminal, who answers what a command asks."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time

from tests.kit.before import own_terminal
from tests.kit.command import argv
from tests.kit.waiting import PATIENCE_S
from tests.surfaces.cli.machine import Machine

PROMPT_ENDS = ("): ", "]: ", "\n> ")
CTRL_C, CTRL_D, ESC = "\x03", "\x04", "\x1b"


class Typist:
    """Answers every prompt of a command with the next line, and keeps what the terminal shows."""

    def __init__(self, machine: Machine, *arguments: str, **variables: str) -> None:
        self._terminal, child_end = pty.openpty()
        self._process = subprocess.Popen(
            argv(*arguments),
            cwd=machine.project,
            env={**machine.environ, **variables},
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
