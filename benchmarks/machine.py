"""What else was going on: without it, no figure of a shared machine means anything."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path

BUSY_SHARE = 0.25
"""Share of the machine that others may take before the figures say more about them than about us."""


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    return {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}


def load_per_core() -> float:
    """How many processes want to run, for each core."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def busy_share(seconds: float = 2.0) -> float:
    """The share of all CPU time that is used while we do nothing; 0 where the system does not tell."""
    before = _times()
    time.sleep(seconds)
    after = _times()
    total = after[1] - before[1]
    return (after[0] - before[0]) / total if total else 0.0


def _times() -> tuple[int, int]:
    try:
        fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    except OSError:
        return 0, 0
    ticks = list(map(int, fields))
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)


def say(line: str) -> None:
    """Progress, apart from the figures."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def resident_mb() -> float:
    """Memory of this process right now."""
    return _status_mb("VmRSS")


def peak_mb() -> float:
    """The most that it ever was; not ru_maxrss, which a process inherits from the one that started it."""
    return _status_mb("VmHWM")


def _status_mb(name: str) -> float:
    """A line of the kernel's report, in kB there; 0 on systems without it."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{name}:")), 0.0)
