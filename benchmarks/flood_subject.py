"""The engine under a flood, in a process of its own: `python -m benchmarks.flood_subject ORDER.json`.

Writes one JSON object to the file that the order names: CPU time, memory over time, and the last states.
"""

from __future__ import annotations

import asyncio
import json
import resource
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import resident_mb

AGENT = Path(__file__).with_name("flood_agent.py")
_SAMPLE_S = 0.25


async def flood(order: dict[str, Any]) -> dict[str, Any]:
    """Run the agents to their end, with windows if the order says so."""
    from pi_subagents.delegation.delegation import Delegation
    from pi_subagents.models import Task
    from pi_subagents.place import Place
    from pi_subagents.surfaces.live import LiveView

    view = LiveView() if order["view"] else None
    each = {
        "rate": order["rate"] / order["agents"],
        "records": order["records"] and order["records"] // order["agents"],
    }
    prompt = json.dumps({"seconds": order["seconds"], **each})
    tasks = [Task(f"flood-{number}", prompt) for number in range(order["agents"])]
    place = Place.here(Path(order["folder"]))
    delegation = Delegation(tasks, place=place, concurrency=order["agents"], observer=view.observe if view else None)
    memory: list[tuple[float, float]] = []
    sampling = asyncio.create_task(_sample(memory))
    start = time.monotonic()
    if view:
        async with view.showing(delegation):
            results = await delegation
    else:
        results = await delegation
    sampling.cancel()
    return {
        "wall_s": time.monotonic() - start,
        "memory": memory,
        "states": [[run.state.message_count, run.state.tool_count] for run in delegation.runs],
        "outputs": [result.output for result in results],
        "completed": sum(result.ok for result in results),
    }


async def _sample(memory: list[tuple[float, float]]) -> None:
    start = time.monotonic()
    while True:
        memory.append((time.monotonic() - start, resident_mb()))
        await asyncio.sleep(_SAMPLE_S)


def main() -> None:
    """Do what the order says."""
    order = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    measured = asyncio.run(flood(order))
    used = resource.getrusage(resource.RUSAGE_SELF)
    report = {**measured, "cpu_s": used.ru_utime + used.ru_stime}
    Path(order["report"]).write_text(json.dumps(report), encoding="utf-8")


def agent_command() -> str:
    """How to start the agent that floods."""
    return shlex.join([sys.executable, "-I", "-S", str(AGENT)])


if __name__ == "__main__":
    main()
