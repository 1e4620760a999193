"""`pi-subagents` as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.kit.waiting import PATIENCE_S


def argv(*arguments: str) -> list[str]:
    """How the command is started."""
    return [sys.executable, "-m", "pi_subagents", *arguments]


def run(
    *arguments: str, cwd: Path, environ: Mapping[str, str], stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    return subprocess.run(
        argv(*arguments),
        cwd=cwd,
        env=dict(environ),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        **given,
    )


def completing(*words: str) -> dict[str, str]:
    """The variables with which the command tells zsh how the last of these words goes on.

    It prints three lines for each way: its kind, the word, and what it means.
    """
    line = ["pi-subagents", *words]
    return {
        "_PI_SUBAGENTS_COMPLETE": "zsh_complete",
        "COMP_WORDS": " ".join(line),
        "COMP_CWORD": str(len(line) - 1),
    }
