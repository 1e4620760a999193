"""What is compared, each in a process of its own: `python -m benchmarks.subjects engine|bare FOLDER TASKS JOBS`.

Both start the same agents with the same options and the same prompt on standard input, so many at once. The process
prints one JSON object: how long it took, and the CPU time of itself and of everything it started.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROMPT = "Run the command and say what it printed."


def bare(folder: Path, tasks: int, jobs: int) -> Callable[[], int]:
    """`pi … < prompt > file` from a few threads: the least that anybody could do."""
    from pi_subagents.paths import data_dir
    from pi_subagents.programs import find_pi

    program = find_pi(None, os.environ, data_dir(os.environ)).argv
    options = ("--mode", "json", "-p", "--no-prompt-templates", "--session")

    def call(number: int) -> bool:
        with (folder / f"{number}.out").open("wb") as output:
            done = subprocess.run(
                [*program, *options, str(folder / f"{number}.jsonl")],
                input=PROMPT.encode(),
                stdout=output,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                # As the engine does: Linux shares CPU time between sessions, so on a busy machine agents in sessions
                # of their own get more of it, and the comparison would be with the neighbours.
                start_new_session=True,
                check=False,
            )
        return done.returncode == 0

    def work() -> int:
        with ThreadPoolExecutor(jobs) as pool:
            return sum(pool.map(call, range(tasks)))

    return work


def engine(folder: Path, tasks: int, jobs: int) -> Callable[[], int]:
    """The same through `delegate`: journals, leases, containment, decoding, results."""
    from pi_subagents import Task, delegate

    asked = [Task(f"task {number}", PROMPT) for number in range(tasks)]

    async def work() -> int:
        return sum(result.ok for result in await delegate(asked, cwd=folder, concurrency=jobs))

    return lambda: asyncio.run(work())


SUBJECTS = {"bare": bare, "engine": engine}


def cpu_s(who: int) -> float:
    """User and system time so far."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def main(name: str, folder: str, tasks: str, jobs: str) -> None:
    """Measure one subject once and print what came of it."""
    work = SUBJECTS[name](Path(folder), int(tasks), int(jobs))
    before = [cpu_s(resource.RUSAGE_SELF), cpu_s(resource.RUSAGE_CHILDREN)]
    start = time.perf_counter()
    completed = work()
    wall = time.perf_counter() - start
    measured = {
        "completed": completed,
        "wall_s": wall,
        "own_cpu_s": cpu_s(resource.RUSAGE_SELF) - before[0],
        "agents_cpu_s": cpu_s(resource.RUSAGE_CHILDREN) - before[1],
        "start_cpu_s": before[0],
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    sys.stdout.write(json.dumps(measured) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
