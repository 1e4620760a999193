"""Checks of the programs: Python, and what the harness needs."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from pi_subagents.diagnosis.situation import Situation
from pi_subagents.models.finding import Finding
from pi_subagents.paths import tilde

MINIMUM_PYTHON = (3, 11)


def check_python(_situation: Situation) -> Iterator[Finding]:
    """The Python this runs on."""
    ok = sys.version_info >= MINIMUM_PYTHON
    wanted = "" if ok else f"install Python {'.'.join(map(str, MINIMUM_PYTHON))} or newer"
    yield Finding("python", ok, f"{platform.python_version()} ({tilde(Path(sys.executable))})", wanted, needed=True)
