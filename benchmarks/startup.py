"""How long `pi-subagents --help` takes beside a bare start of Python, and which imports it pays for."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

BARE = (sys.executable, "-c", "pass")
HELP = (sys.executable, "-m", "pi_subagents", "--help")
_IMPORT = re.compile(r"^import time:\s+(\d+) \|\s+(\d+) \| (.*)$", re.MULTILINE)


def measure_startup(rounds: int) -> dict[str, float]:
    """Median wall times in milliseconds, the two taking turns."""
    times: dict[str, list[float]] = {"python_ms": [], "help_ms": []}
    for _ in range(rounds + 1):
        times["python_ms"].append(_wall_ms(BARE))
        times["help_ms"].append(_wall_ms(HELP))
    # The first of each only warms the caches.
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    return {**medians, "ratio": medians["help_ms"] / medians["python_ms"]}


def slowest_imports(count: int = 20) -> str:
    """The modules that `--help` spends most time on, in microseconds: in themselves, and with what they import."""
    command = [HELP[0], "-X", "importtime", *HELP[1:]]
    done = subprocess.run(command, env=with_bytecode(os.environ), capture_output=True, text=True, check=True)
    found = [(int(own), int(total), name) for own, total, name in _IMPORT.findall(done.stderr)]
    rows = [f"{own:>8} {total:>8}  {name.strip()}" for own, total, name in sorted(found, reverse=True)[:count]]
    return "\n".join([f"{'self µs':>8} {'with all':>8}  module", *rows])


def _wall_ms(command: Sequence[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=with_bytecode(os.environ), stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1000


def with_bytecode(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment in which Python keeps what it compiled, as it does for users."""
    return {name: value for name, value in environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
