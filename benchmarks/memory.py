"""Memory of the engine: with ever more agents at once, and over a million events.

    ./scripts/bench memory [--quick]

The agents are the scripted stand-in, so that 64 of them are cheap; each has printed 50 events and waits until all have.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.flood import Flooded, flood
from benchmarks.machine import peak_mb, resident_mb, say
from benchmarks.startup import with_bytecode

ROOT = Path(__file__).resolve().parent.parent
COUNTS = (4, 16, 64)
GOAL_MB = 60.0
GOAL_GROWTH_MB = 5.0
"""Allocators round up; a leak of even ten bytes for an event would be twice that."""
_EVENTS = 50
_WAIT_S = 120.0
_LOOK_S = 0.02


def measure(counts: Iterable[int], flooded_records: int) -> dict[str, Any]:
    """Resident megabytes for each number of agents, and over a flood."""
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        at_once = {str(count): at_work(Path(scratch) / f"{count}", count) for count in counts}
        say("memory: a flood of events")
        long = flood(
            Path(scratch) / "flood", seconds=_WAIT_S, rate=1_000_000, agents=4, view=False, records=flooded_records
        )
    if not long.is_right:
        raise SystemExit("the flood did not end with what its agents printed: the figures would mean nothing")
    return {"at_once": at_once, "flood": _summary(long)}


def _summary(long: Flooded) -> dict[str, Any]:
    report = long.report
    return {
        "records": long.records,
        "wall_s": report["wall_s"],
        "cpu_s": report["cpu_s"],
        "growth_mb": long.growth_mb,
        "last_mb": report["memory"][-1][1],
        "memory": report["memory"],
    }


def at_work(folder: Path, count: int) -> dict[str, float]:
    """Megabytes of an engine with so many agents at work, in a process of its own."""
    (folder / "project" / ".git").mkdir(parents=True)
    (folder / "agent").mkdir()
    settings = {"subagents": {"maxProcesses": count}}
    (folder / "agent" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    environ = {**with_bytecode(os.environ), "PI_AGENT_DIR": str(folder / "agent"), "HOME": str(folder)}
    command = [sys.executable, "-m", "benchmarks.memory", "--subject", str(folder / "project"), str(count)]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=_WAIT_S, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{count} agents at once failed:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout)
    say(f"memory: {count} agents at once, {result['all_at_work_mb']:.0f} MB")
    return result


# --- the subject --------------------------------------------------------------------------------------------


async def agents_at_once(folder: Path, count: int) -> dict[str, float]:
    """What this process needs while that many agents are at work."""
    from benchmarks.pipeline import turns
    from pi_subagents.delegation.delegation import Delegation
    from pi_subagents.models import Task
    from pi_subagents.place import Place
    from pi_subagents.testing import SCRIPTED_AGENT, answer, prints, script
    from pi_subagents.testing.agent import touches, waits_for

    go = folder / "go"
    events, end = prints(*turns(_EVENTS - 4)), prints(*answer("Done."))
    arrived = [folder / f"arrived-{number}" for number in range(count)]
    tasks = [Task(path.name, script(events, touches(path), waits_for(go), end)) for path in arrived]
    place = Place.here(folder, {**os.environ, SCRIPTED_AGENT[0]: SCRIPTED_AGENT[1]})
    loaded = resident_mb()
    work = asyncio.ensure_future(_results(Delegation(tasks, place=place, concurrency=count)))
    async with asyncio.timeout(_WAIT_S):
        while not work.done() and not all(path.exists() for path in arrived):  # noqa: ASYNC110 - others make them
            await asyncio.sleep(_LOOK_S)
        all_at_work = resident_mb()
        go.touch()
        completed = sum(result.ok for result in await work)
    if completed != count:
        raise SystemExit(f"{completed} of {count} were completed")
    return {"loaded_mb": loaded, "all_at_work_mb": all_at_work, "peak_mb": peak_mb()}


async def _results(delegation: Any) -> list[Any]:
    return list(await delegation)


def figures(found: Mapping[str, Any]) -> list[Figure]:
    """What was measured, for people."""
    kept = []
    for count, one in found["at_once"].items():
        goal = GOAL_MB if count == str(max(COUNTS)) else None
        note = f"{one['loaded_mb']:.0f} MB before the first, {one['peak_mb']:.0f} MB at most"
        kept.append(Figure(f"engine memory with {count} agents at work", one["all_at_work_mb"], "MB", goal, note=note))
    long = found["flood"]
    note = f"{long['last_mb']:.0f} MB at the end, {long['records'] / long['wall_s']:,.0f} events/s"
    kept.append(Figure(f"growth over {long['records']:,} events", long["growth_mb"], "MB", GOAL_GROWTH_MB, note=note))
    return kept


def measure_as_told(quick: bool) -> dict[str, Any]:
    """Little or much of it."""
    return measure(COUNTS[:2], 100_000) if quick else measure(COUNTS, 1_000_000)


def main() -> None:
    """Measure and print; or be the subject."""
    parser = argparse.ArgumentParser(description="Memory of the engine.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--subject", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.subject:
        folder, count = options.subject
        sys.stdout.write(json.dumps(asyncio.run(agents_at_once(Path(folder), int(count)))) + "\n")
        return
    found = measure_as_told(options.quick)
    sys.stdout.write("\n".join(figure.line() for figure in figures(found)) + "\n")


if __name__ == "__main__":
    main()
