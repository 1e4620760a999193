"""`pi-subagents` as a process of its own, and in this one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tests.kit.waiting import PATIENCE_S

REPOSITORY = Path(__file__).parents[2]
PYTHON_VARIABLES = {"PYTHONPATH": str(REPOSITORY / "src"), "PYTHONUTF8": "1"}
"""What an interpreter needs to find us wherever it starts, and to speak as it does anywhere."""

Ended = subprocess.CompletedProcess[str]


def argv(*arguments: str) -> list[str]:
    """How the command is started."""
    return [sys.executable, "-m", "pi_subagents", *arguments]


def run(*arguments: str, cwd: Path, environ: Mapping[str, str], stdin: str | None = None) -> Ended:
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


def called(*arguments: str) -> Result:
    """What the command prints in this very process, and how it ends."""
    from pi_subagents.surfaces.cli.app import app

    result = CliRunner().invoke(app, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def called_json(*arguments: str) -> Any:
    """The JSON that it prints."""
    return json.loads(called(*arguments).stdout)


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
