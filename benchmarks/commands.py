"""How long a command takes until it has started its agent, and one that needs no agent until its end."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks import startup
from benchmarks.startup import PYTHON, with_bytecode

PROGRAM = str(Path(sys.executable).with_name("pi-subagents"))
_TASK = json.dumps({"tasks": [{"name": "first", "prompt": "Go."}]})
_REPEATS = 3
_WAIT_S = 60.0
# Says when it was started, and nothing else. The clock is the same for all processes.
_AGENT = """#!{python} -ISE
import sys, time
now = time.clock_gettime(time.CLOCK_MONOTONIC)
if "--version" in sys.argv:
    print("{version}")
else:
    try:
        open({stamp!r}, "x").write(repr(now))
    except FileExistsError:
        pass
"""
_VERSION = "0.87.1"


def measure() -> dict[str, float]:
    """Milliseconds, each the median of a few."""
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        folder = Path(scratch)
        # The part of start-up knows better what the time is made of.
        first: Callable[[], dict[str, float]] = getattr(startup, "first_agent", lambda: first_agent(folder))
        found = first()
        environ = _environ(folder)
        profiles = (PROGRAM, "call", "list_subagent_profiles")
        return {
            **{f"first_agent_{name}": value for name, value in found.items()},
            "list_profiles_ms": statistics.median(_wall_ms(profiles, folder, environ) for _ in range(_REPEATS)),
            "python_ms": statistics.median(_wall_ms(PYTHON, folder, environ) for _ in range(_REPEATS)),
        }


def first_agent(folder: Path) -> dict[str, float]:
    """From the start of `pi-subagents call` to that of its agent."""
    stamp, agent = folder / "stamp", folder / "agent-program"
    text = _AGENT.format(python=sys.executable, stamp=str(stamp), version=_VERSION)
    agent.write_text(text, encoding="utf-8")
    agent.chmod(0o755)
    environ = _environ(folder, {"piCommand": [str(agent)]})
    (folder / ".git").mkdir(exist_ok=True)
    call = (PROGRAM, "call", "delegate_to_subagents", _TASK)
    _stamped_ms(call, stamp, folder, environ)  # what is asked once is remembered
    called = statistics.median(_stamped_ms(call, stamp, folder, environ) for _ in range(_REPEATS))
    # What the agent needs itself, until it has looked at the clock.
    alone = statistics.median(_stamped_ms((str(agent),), stamp, folder, environ) for _ in range(_REPEATS))
    return {"total_ms": called - alone}


def _stamped_ms(command: Sequence[str], stamp: Path, folder: Path, environ: Mapping[str, str]) -> float:
    stamp.unlink(missing_ok=True)
    start = time.clock_gettime(time.CLOCK_MONOTONIC)
    # The agent gives no answer, so the call may fail; what counts is that it was started.
    subprocess.run(
        command,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=_WAIT_S,
        check=False,
    )
    if not stamp.exists():
        raise SystemExit(f"{' '.join(command[:3])} started no agent: the figures would mean nothing")
    return (float(stamp.read_text(encoding="utf-8")) - start) * 1000


def _wall_ms(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environ, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1000


def _environ(folder: Path, settings: Mapping[str, object] | None = None) -> dict[str, str]:
    agent_dir = folder / "agent"
    agent_dir.mkdir(exist_ok=True)
    (agent_dir / "settings.json").write_text(json.dumps({"subagents": settings or {}}), encoding="utf-8")
    return {**with_bytecode(os.environ), "PI_AGENT_DIR": str(agent_dir), "HOME": str(folder)}


def notes(found: Mapping[str, float]) -> dict[str, str]:
    """What is said below the rows of these goals."""
    prefix, suffix = "first_agent_", "_ms"
    names = [name for name in found if name.startswith(prefix) and name != "first_agent_total_ms"]
    parts = [f"{name.removeprefix(prefix).removesuffix(suffix).replace('_', ' ')} {found[name]:.0f}" for name in names]
    kept = {"list-profiles": f"python -c pass: {found['python_ms']:.0f} ms"}
    return kept | ({"first-agent": f"in ms: {', '.join(parts)}"} if parts else {})
