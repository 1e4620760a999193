"""Asks a program a short question, such as its version, and never waits longer than it was told to."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program printed, on whichever stream; `exit_code` is None if it did not start or did not end in time."""

    exit_code: int | None
    text: str

    @property
    def ok(self) -> bool:
        """Whether the program did what it was asked."""
        return self.exit_code == 0


def ask(argv: Sequence[str], *, environ: Mapping[str, str], timeout_s: float, cwd: Path | None = None) -> Answer:
    """Run `argv` with nothing on its standard input and return what it says; its failure is an answer too."""
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # some versions of pi answer on standard error
            env=dict(environ),
            cwd=cwd,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # the latter for what no process can be given, such as a null byte
        return Answer(None, f"{argv[0]}: {(error.strerror if isinstance(error, OSError) else None) or error}")
    with process:
        return _answer(process, timeout_s)


def _answer(process: subprocess.Popen[str], timeout_s: float) -> Answer:
    try:
        text, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return Answer(None, f"no answer within {timeout_s:g} s")
    finally:
        # Also what a launcher script left in the background.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return Answer(process.returncode, text)
