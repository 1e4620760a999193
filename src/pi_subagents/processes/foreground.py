"""Hands the terminal over to another program: for good, or until it has ended."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import NoReturn

from pi_subagents.errors import AgentNotFound

_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def become(argv: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Be that program from now on; raises AgentNotFound if it cannot be started."""
    for number in _IGNORED_BY_PYTHON:  # what is ignored here would be ignored there
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(argv[0], list(argv), dict(environ))
    except (OSError, ValueError) as error:
        raise _not_started(argv, error) from None


def run_in_terminal(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run that program here and wait for its end; its exit code. Raises AgentNotFound."""
    # Ctrl+C is the other program's as long as it runs. A handler, because what is ignored is inherited.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        return subprocess.run(list(argv), env=dict(environ), check=False).returncode
    except (OSError, ValueError) as error:
        raise _not_started(argv, error) from None
    finally:
        signal.signal(signal.SIGINT, before)


def _not_started(argv: Sequence[str], error: OSError | ValueError) -> AgentNotFound:
    why = error.strerror if isinstance(error, OSError) else error
    return AgentNotFound(f"{argv[0]} cannot be started ({why}). Run: pi-subagents doctor")
