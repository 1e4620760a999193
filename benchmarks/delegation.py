"""What tasks take through the engine beside as many bare `pi` calls, on the offline model.

The subjects take turns, and a ratio compares two measurements of the same round. The model's server lives in this
process, each subject in its own, so that nobody pays for another's work.

    ./scripts/bench delegation [--quick] [--minutes N] [--peer "name=command with {n} and {jobs}"]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import peers as others
from benchmarks.figures import Cell, Figure, Measured, ideal_s, medians, ratios, spread
from benchmarks.machine import say
from benchmarks.peers import delegate, delegates, named_commands
from benchmarks.startup import with_bytecode
from benchmarks.subjects import PROMPT
from pi_subagents.offline import Call, OfflineModel, Script, Turn, agent_environment

ROOT = Path(__file__).resolve().parent.parent
COUNTS = (1, 4, 16, 64)
JOBS = {0.0: 4, 0.5: 16}
"""Model latencies, and how many tasks are worked on at once with each."""
TURNS = 2
OWN = {"bare": "bare pi", "cold": "cold", "warm": "warm", "warmed": "already warm"}
CLI = "cli"
"""`pi-subagents call`, from the start of its interpreter; it takes sixteen tasks at most."""
GOALS = {
    (0.0, 16, "warm"): 0.45,
    (0.0, 64, "warm"): 0.16,
    (0.0, 16, "cold"): 1.05,
    (0.0, 64, "cold"): 1.05,
}
_MAX_ROUNDS = 5
_SUBJECT_TIMEOUT_S = 300


def conversation(latency_s: float) -> Script:
    """One tool call, then an answer: the smallest run that uses everything.

    A conversation that begins with `Delegate N tasks` hands out N of them, for peers that are extensions of `pi`.
    """
    call = Turn(calls=(Call("bash", {"command": "echo ready"}),), delay_s=latency_s)
    script = Script().otherwise([call, Turn("It printed: ready.", delay_s=latency_s)])
    return script.when(delegates, [lambda request: delegate(request, PROMPT), Turn("They are done.")])


def settings_for(name: str, jobs: int) -> dict[str, object]:
    """Those that come with the program, but for what makes the subject what it is."""
    # The limit of the machine must not lie below what bare calls may do.
    limit: dict[str, object] = {"maxProcesses": jobs}
    return limit | {"warmAgents": False} if name == "cold" else limit


class Field:
    """Where the subjects compete: a scratch directory, and a model for each latency."""

    def __init__(self, scratch: Path, peers: Mapping[str, str]) -> None:
        self.subjects = {**OWN, **{name: name for name in peers}}
        self._scratch = scratch
        self._peers = peers
        self._models = {latency: OfflineModel(conversation(latency)) for latency in JOBS}
        self._number = 0

    def __enter__(self) -> Field:
        for model in self._models.values():
            model.start()
        return self

    def __exit__(self, *_: object) -> None:
        for model in self._models.values():
            model.close()

    def round(self, cell: Cell, names: Iterable[str], *, backwards: bool) -> dict[str, Measured]:
        """Every one of them once. Who goes first changes, so that a machine that gets busier favours nobody."""
        measured = {name: self._measure(name, cell) for name in sorted(names, reverse=backwards)}
        return {name: measured[name] for name in names}

    def _measure(self, name: str, cell: Cell) -> Measured:
        self._number += 1
        folder = self._scratch / f"{self._number}"
        (folder / "project" / ".git").mkdir(parents=True)
        model = self._models[cell.latency_s]
        agent_dir = model.write_agent_dir(folder / "agent", settings={"subagents": settings_for(name, cell.jobs)})
        environ = {**with_bytecode(os.environ), **agent_environment(agent_dir, os.environ)}
        if name in ("cold", "warm", CLI):
            # What we ask once and remember is no part of the figures; pi itself remembers nothing.
            self._run(name, folder / "project", Cell(cell.latency_s, 1, 1), environ)
        asked_before, start = len(model.requests), time.perf_counter()
        result, complaints = self._run(name, folder / "project", cell, environ)
        wall = time.perf_counter() - start
        asked = len(model.requests) - asked_before
        # Exit codes can be wrong; a task that was done has asked the model so many times.
        if result["completed"] != cell.tasks or asked < cell.tasks * TURNS:
            raise SystemExit(
                f"{name} completed {result['completed']:g} of {cell.tasks} tasks and asked the model {asked} times: "
                f"the figures would mean nothing\n{complaints}"
            )
        return {**result, "process_wall_s": wall}

    def _run(self, name: str, folder: Path, cell: Cell, environ: dict[str, str]) -> tuple[Measured, str]:
        subject, *command = ["peer", self._peers[name]] if name in self._peers else [name]
        order = [subject, str(folder), str(cell.tasks), str(cell.jobs), *command]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.subjects", *order],
            cwd=ROOT,
            env=environ,
            capture_output=True,
            text=True,
            timeout=_SUBJECT_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"{name} failed:\n{done.stderr}")
        return json.loads(done.stdout), done.stderr


def measure(counts: Iterable[int], peers: Mapping[str, str], *, rounds: int, seconds: float) -> dict[str, Any]:
    """One round of everything, then further ones as long as there is time for them."""
    deadline = time.monotonic() + seconds
    cells = [Cell(latency, tasks, jobs) for latency, jobs in JOBS.items() for tasks in counts]
    kept: dict[Cell, list[dict[str, Measured]]] = {cell: [] for cell in cells}
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, Field(Path(scratch), peers) as field:
        if seconds > 0:
            field.round(Cell(0.0, 1), field.subjects, backwards=False)  # fills the caches
        took: dict[Cell, float] = dict.fromkeys(cells, 0.0)
        for number in range(rounds):
            for cell in cells:
                start = time.monotonic()
                if start + took[cell] > deadline:
                    continue
                result = field.round(cell, field.subjects, backwards=bool(number % 2))
                kept[cell].append(result)
                took[cell] = time.monotonic() - start
                walls = ", ".join(f"{field.subjects[name]} {one['wall_s']:.2f} s" for name, one in result.items())
                say(f"round {number + 1}, {cell.words}: {walls}")
        names = field.subjects
    for cell in cells:
        if not kept[cell]:
            say(f"not measured, for lack of time: {cell.words}")
    return {"subjects": names, "cells": [_summary(cell, kept[cell], names) for cell in cells if kept[cell]]}


def _summary(cell: Cell, kept: list[dict[str, Measured]], names: Iterable[str]) -> dict[str, Any]:
    rounds = {name: [round_[name] for round_ in kept] for name in names}
    others = [name for name in rounds if name != "bare"]
    return {
        "latency_s": cell.latency_s,
        "tasks": cell.tasks,
        "jobs": cell.jobs,
        "ideal_s": ideal_s(cell.tasks, cell.jobs, cell.latency_s, TURNS),
        "medians": {name: medians(measured) for name, measured in rounds.items()},
        "wall_ratios": ratios(rounds, "bare"),
        "wall_ratio_spread": {name: spread(rounds, "bare", name) for name in others},
        "rounds": rounds,
    }


def table(found: Mapping[str, Any]) -> str:
    """Times of bare calls, and the other subjects as ratios to them."""
    names = found["subjects"]
    others = [name for name in names if name != "bare"]
    lines = []
    for latency, jobs in JOBS.items():
        rows = [cell for cell in found["cells"] if cell["latency_s"] == latency]
        if not rows:
            continue
        lines.append(f"{f'{latency:g} s latency, {jobs} at once':<26}" + _headings(names.values()) + f"{'rounds':>8}")
        for cell in rows:
            cells = [f"{cell['medians']['bare']['wall_s']:>14.2f} s"]
            cells += [f"{cell['wall_ratios'][name]:>14.2f} ×" for name in others]
            label = f"  {cell['tasks']} task{'s' if cell['tasks'] > 1 else ''}"
            lines.append(f"{label:<26}{''.join(cells)}{len(cell['rounds']['bare']):>8}")
        lines += [*_costs(rows[-1], names), ""]
    return "\n".join(lines)


def _headings(labels: Iterable[str]) -> str:
    return "".join(f"{label:>16}" for label in labels)


def _costs(cell: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """What the largest number of tasks cost every subject."""
    rows = (
        ("CPU of the caller", "own_cpu_s", "s"),
        ("CPU of the agents", "agents_cpu_s", "s"),
        ("agents", "agents", " "),
        ("  started for it", "started", " "),
        ("memory of the caller", "peak_mb", "MB"),
    )
    lines = [f"  for these {cell['tasks']}:"]
    for label, key, unit in rows:
        digits = 0 if unit != "s" else 2
        lines.append(
            f"    {label:<22}"
            + "".join(f"{cell['medians'][name][key]:>{15 - len(unit)}.{digits}f} {unit}" for name in names)
        )
    if cell["ideal_s"]:
        ideal = cell["ideal_s"]
        walls = "".join(f"{cell['medians'][name]['wall_s'] / ideal:>14.2f} ×" for name in names)
        lines.append(f"    {f'beside ideal {ideal:.2f} s':<22}{walls}")
    return lines


def figures(found: Mapping[str, Any]) -> list[Figure]:
    """What has a limit of its own, beside the goals."""
    kept = []
    for cell in found["cells"]:
        words = Cell(cell["latency_s"], cell["tasks"], cell["jobs"]).words
        for name, ratio in cell["wall_ratios"].items():
            goal = GOALS.get((cell["latency_s"], cell["tasks"], name))
            if goal is not None:
                low, high = cell["wall_ratio_spread"][name]
                note = f"{low:.2f} to {high:.2f} in the single rounds"
                kept.append(Figure(f"{words}: {OWN[name]} / bare", ratio, "×", goal, note=note))
    return kept


def given_peers(options: argparse.Namespace) -> dict[str, str]:
    """The commands that were given; raises SystemExit for what is not one."""
    return named_commands(options.peer, (*OWN, CLI))


def add_options(parser: argparse.ArgumentParser) -> None:
    """What this part can be told."""
    parser.add_argument("--quick", action="store_true", help="fewer tasks and one round: does it work at all?")
    parser.add_argument("--minutes", type=float, help="no further round is begun after so long: 9, or 2 with --quick")
    parser.add_argument("--rounds", type=int, default=_MAX_ROUNDS, help="at most so many")
    others.add_options(parser)


def seconds(options: argparse.Namespace) -> float:
    """How long it may take."""
    minutes: float = options.minutes or (2.0 if options.quick else 9.0)
    return 60 * minutes


def measure_as_told(options: argparse.Namespace, time_left_s: float) -> dict[str, Any]:
    """With the options that `add_options` added."""
    counts = [count for count in COUNTS if count < max(COUNTS)] if options.quick else COUNTS
    rounds = 1 if options.quick else options.rounds
    # Those of the goals may refuse more than sixteen tasks.
    given = {name: command for name, command in given_peers(options).items() if name not in others.PACKAGES}
    return measure(counts, given, rounds=rounds, seconds=time_left_s)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What tasks take through the engine beside bare pi calls.")
    add_options(parser)
    options = parser.parse_args()
    found = measure_as_told(options, seconds(options))
    lines = [table(found), *(figure.line() for figure in figures(found))]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
