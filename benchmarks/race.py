"""Measures what there are goals for: `./scripts/bench race [--quick] [--peers DIRECTORY] [--docs]`.

A value of a round is a ratio of two subjects of that round, or milliseconds of a command. Only those subjects run that
a goal asks for, so that there is time for more rounds than in the table of everything.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import delegation, first_agent, memory, report
from benchmarks.figures import Cell, Measured, ideal_s, medians
from benchmarks.goals import GOALS, IDEAL, Race, Row, rows_of, rows_of_json
from benchmarks.machine import say
from benchmarks.peers import ORIGINAL, PACKAGES, QUICKEST, extensions

Values = dict[str, list[float]]
QUICKEST_SHARE = 0.238
"""Of the original's time, where only that was given: both measured in one run, 2.24 s and 9.4 s."""
_STARTS = 3
"""Calls in each round."""
_NO_PEER = "not measured: it needs --peers, see docs/guides/benchmarks.md"
_SHARE = f"the quickest peer was not measured, but taken as {QUICKEST_SHARE} of the original extension"
_NO_TIME = "not measured: no time was left, or --quick left it out"


def races(peers: Iterable[str]) -> dict[str, Race]:
    """The races whose runners are here, by goal."""
    here = {*delegation.OWN, delegation.CLI, IDEAL, *peers}
    found = {goal.key: goal.race for goal in GOALS if goal.race}
    if QUICKEST not in here:
        found = {key: _beside_original(race) for key, race in found.items()}
    return {key: race for key, race in found.items() if race.against in here}


def _beside_original(race: Race) -> Race:
    return replace(race, against=ORIGINAL, share=QUICKEST_SHARE) if race.against == QUICKEST else race


def runners(wanted: Iterable[Race]) -> dict[Cell, list[str]]:
    """Who has to run in which cell: everybody once, however many goals ask for them."""
    cells: dict[Cell, list[str]] = {}
    for race in wanted:
        names = cells.setdefault(race.cell, [])
        names += [one for one in (race.against, race.subject) if one != IDEAL and one not in names]
    return cells


def ratio(race: Race, measured: Mapping[str, Measured]) -> float:
    """What a goal is about, from one round of its cell."""
    cell = race.cell
    ideal = ideal_s(cell.tasks, cell.jobs, cell.latency_s, delegation.TURNS)
    other = ideal if race.against == IDEAL else measured[race.against]["wall_s"]
    return measured[race.subject]["wall_s"] / (race.share * other)


def measure(peers: Mapping[str, str], *, rounds: int, seconds: float) -> dict[str, Any]:
    """Up to so many rounds of everything, as long as there is time; never less than one."""
    deadline = time.monotonic() + seconds
    wanted = races(peers)
    values: Values = {}
    walls: dict[Cell, list[dict[str, Measured]]] = {}
    parts: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, delegation.Field(Path(scratch), peers) as field:
        for number in range(rounds):
            start = time.monotonic()
            for cell, names in runners(wanted.values()).items():
                result = field.round(cell, names, backwards=bool(number % 2))
                walls.setdefault(cell, []).append(result)
                for key, race in wanted.items():
                    if race.cell == cell:
                        values.setdefault(key, []).append(ratio(race, result))
                times = ", ".join(f"{name} {one['wall_s']:.2f} s" for name, one in result.items())
                say(f"goals, round {number + 1}, {cell.words}: {times}")
            parts.append(first_agent.measure(_STARTS))
            agents = memory.at_work(Path(scratch) / f"memory-{number}", max(memory.COUNTS))
            values.setdefault("memory-64", []).append(agents["all_at_work_mb"])
            if 2 * time.monotonic() - start > deadline:  # the next one would take as long
                break
    values["first-agent"] = [one["exec_to_exec_ms"] for one in parts]
    values["list-profiles"] = [one["list_profiles_ms"] for one in parts]
    kept = [_kept(cell, results) for cell, results in walls.items()]
    return {"values": values, "peers": list(peers), "cells": kept, "first_agent": medians(parts)}


def _kept(cell: Cell, results: Sequence[Mapping[str, Measured]]) -> dict[str, Any]:
    names = list(results[0])
    times = {name: medians([one[name] for one in results])["wall_s"] for name in names}
    return {"cell": cell.words, "tasks": cell.tasks, "latency_s": cell.latency_s, "wall_s": times, "rounds": results}


def rows(found: Mapping[str, Any], found_memory: Mapping[str, Any]) -> list[Row]:
    """All goals, with what was measured here and for memory."""
    values: Values = dict(found["values"])
    if found_memory["flood"]["records"] >= 1_000_000:
        values["memory-growth"] = [found_memory["flood"]["growth_mb"]]
    notes = {}
    for goal in GOALS:
        if not values.get(goal.key):
            notes[goal.key] = _NO_PEER if goal.race and goal.race.against in PACKAGES else _NO_TIME
        elif goal.race and goal.race.against == QUICKEST and QUICKEST not in found["peers"]:
            notes[goal.key] = _SHARE
    start = found["first_agent"]
    notes["first-agent"] = f"in ms: {first_agent.made_of(start)}"
    notes["list-profiles"] = f"python -c pass: {start['python_ms']:.0f} ms"
    return rows_of(values, notes)


def measure_as_told(options: argparse.Namespace, time_left_s: float) -> dict[str, Any]:
    """One round or several."""
    rounds = 1 if options.quick else options.rounds
    return measure(given_peers(options), rounds=rounds, seconds=time_left_s)


def given_peers(options: argparse.Namespace) -> dict[str, str]:
    """The commands that were given, and the extensions of the goals."""
    return {**extensions(options.peers), **delegation.given_peers(options)}


def main() -> None:
    """Measure only the goals, or show those of an earlier run again."""
    parser = argparse.ArgumentParser(description="What there are goals for.")
    delegation.add_options(parser)
    report.add_options(parser)
    parser.add_argument("--kept", type=Path, metavar="FILE", help="measure nothing: take this latest.json")
    options = parser.parse_args()
    if options.kept:
        kept = json.loads(options.kept.read_text(encoding="utf-8"))
        found = rows_of_json(kept["goals"])
    else:
        with report.watched(options) as kept:
            kept["parts"]["race"] = measure_as_told(options, delegation.seconds(options))
            kept["parts"]["memory"] = memory.measure_as_told(options.quick)
            found = rows(kept["parts"]["race"], kept["parts"]["memory"])
    sys.stdout.write(report.publish(kept, found, docs=options.docs))


if __name__ == "__main__":
    main()
