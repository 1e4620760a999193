"""What is compared, each in a process of its own: `python -m benchmarks.subjects NAME FOLDER TASKS JOBS [COMMAND]`.

All start the same agents with the same prompt, so many at once. The process prints one JSON object: how long it took,
and the CPU time of itself and of everything below it, whether it has ended or is kept.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.machine import peak_mb
from pi_subagents.agents.pool import agents_for
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.harness.pi.programs import find_pi
from pi_subagents.models import Task
from pi_subagents.models.event import Event, Started
from pi_subagents.place import Place
from pi_subagents.runners import Runner

_MAX_WARMING = 3
PROMPT = "Run the command and say what it printed."


class Done(NamedTuple):
    """What came of the tasks: how many were completed, by how many agents, and how many of these had to be started."""

    completed: int
    agents: int
    started: int


Work = Callable[[], Done]
Subject = Callable[[Path, int, int, str], AbstractContextManager[Work]]


@contextmanager
def bare(folder: Path, tasks: int, jobs: int, _command: str) -> Iterator[Work]:
    """`pi … < prompt > file` from a few threads: the least that anybody could do."""
    program = _pi()
    options = ("--mode", "json", "-p", "--no-prompt-templates", "--session")
    own = folder / f"{os.getpid()}"  # an earlier one may have left sessions here, which pi would go on with

    def call(number: int) -> bool:
        with Path(f"{own}-{number}.out").open("wb") as output:
            done = subprocess.run(
                [*program, *options, f"{own}-{number}.jsonl"],
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

    def work() -> Done:
        with ThreadPoolExecutor(jobs) as pool:
            return Done(sum(pool.map(call, range(tasks))), tasks, tasks)

    yield work


@contextmanager
def engine(folder: Path, tasks: int, jobs: int, _command: str) -> Iterator[Work]:
    """The same through a delegation with agents of its own, which are gone at its end.

    Whether it keeps them meanwhile is up to the settings that it finds.
    """
    yield lambda: asyncio.run(_delegate(folder, tasks, jobs, None))


@contextmanager
def warmed(folder: Path, tasks: int, jobs: int, _command: str) -> Iterator[Work]:
    """A later delegation of the same program, when the earlier ones have started all the agents that it needs."""
    with asyncio.Runner() as runner:
        place = Place.here(folder)
        agents = agents_for(place, place.settings())

        def work() -> Done:
            return runner.run(_delegate(folder, tasks, jobs, agents))

        for _ in range(_MAX_WARMING):
            if work().started == 0:
                break
        yield work
        runner.run(agents.close())


@contextmanager
def cli(folder: Path, tasks: int, _jobs: int, _command: str) -> Iterator[Work]:
    """`pi-subagents call`, as a shell would start it."""
    program = Path(sys.executable).with_name("pi-subagents")
    asked = {"tasks": [{"name": f"task {number}", "prompt": PROMPT} for number in range(tasks)]}
    command = [str(program), "call", "delegate_to_subagents", json.dumps(asked)]

    def work() -> Done:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
        return Done(tasks if done.returncode == 0 else 0, 0, 0)

    yield work


@contextmanager
def peer(folder: Path, tasks: int, jobs: int, command: str) -> Iterator[Work]:
    """Any command that does so many tasks; `{pi}` is the program that the others use."""
    filled = command.replace("{n}", str(tasks)).replace("{jobs}", str(jobs)).replace("{pi}", shlex.join(_pi()))
    words = shlex.split(filled)

    def work() -> Done:
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
        return Done(tasks if done.returncode == 0 else 0, 0, 0)

    yield work


def _pi() -> Sequence[str]:
    return find_pi(None, os.environ).argv


async def _delegate(folder: Path, tasks: int, jobs: int, agents: Runner | None) -> Done:
    starts: list[Started] = []

    def observe(_state: object, events: Sequence[Event]) -> None:
        starts.extend(event for event in events if isinstance(event, Started))

    asked = [Task(f"task {number}", PROMPT) for number in range(tasks)]
    place = Place.here(folder)
    results = await Delegation(asked, place=place, concurrency=jobs, observer=observe, agents=agents)
    new = sum(not start.reused for start in starts)
    return Done(sum(result.ok for result in results), len({start.pid for start in starts}), new)


SUBJECTS: dict[str, Subject] = {
    "bare": bare,
    "cold": engine,
    "warm": engine,
    "warmed": warmed,
    "cli": cli,
    "peer": peer,
}


def own_cpu_s() -> float:
    """User and system time of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def agents_cpu_s() -> float:
    """The same for everything below it, ended or alive."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + _alive_cpu_s()


def _alive_cpu_s() -> float:
    """What the kernel has not added to the ended ones yet; 0 on systems without /proc."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        pid = int(path.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    below = {os.getpid()}
    while found := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= found
    return sum(ticks.get(pid, 0) for pid in below - {os.getpid()}) / os.sysconf("SC_CLK_TCK")


def main(name: str, folder: str, tasks: str, jobs: str, command: str = "") -> None:
    """Measure one subject once and print what came of it."""
    with SUBJECTS[name](Path(folder), int(tasks), int(jobs), command) as work:
        before = own_cpu_s(), agents_cpu_s()
        start = time.perf_counter()
        done = work()
        wall = time.perf_counter() - start
        after = own_cpu_s(), agents_cpu_s()
    measured = {
        **done._asdict(),
        "wall_s": wall,
        "own_cpu_s": after[0] - before[0],
        "agents_cpu_s": after[1] - before[1],
        "start_cpu_s": before[0],
        "peak_mb": peak_mb(),
    }
    sys.stdout.write(json.dumps(measured) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
