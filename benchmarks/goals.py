"""What the engine should reach, and whether it did: one row for each goal. Here is no measuring, see `race`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.figures import Cell
from benchmarks.peers import ORIGINAL, QUICKEST

IDEAL = "ideal"
"""What the model alone takes."""
_LABEL_WIDTH = 58


@dataclass(frozen=True)
class Race:
    """Who is compared with whom, or with which share of the other's time."""

    cell: Cell
    subject: str
    against: str
    share: float = 1.0


@dataclass(frozen=True)
class Goal:
    """The most that a figure may be; `reason` says why it is more, if it is."""

    key: str
    label: str
    most: float
    unit: str
    before: str
    race: Race | None = None
    reason: str = ""


GOALS = (
    Goal(
        "cli-16-original",
        "16 tasks from the command line / the original extension",
        0.27,
        "×",
        "1.02",
        Race(Cell(0.0, 16), "cli", ORIGINAL),
    ),
    Goal(
        "cli-4-original",
        "4 tasks from the command line / the original extension",
        0.55,
        "×",
        "0.90",
        Race(Cell(0.0, 4), "cli", ORIGINAL),
    ),
    Goal(
        "warmed-16-bare",
        "16 tasks from a host that is warm / bare pi calls",
        0.09,
        "×",
        "0.09 if set",
        Race(Cell(0.0, 16), "warmed", "bare"),
    ),
    Goal(
        "cli-1-bare",
        "1 task from the command line / one bare pi call",
        1.15,
        "×",
        "1.45–1.52",
        Race(Cell(0.0, 1), "cli", "bare"),
        reason="our interpreter and what it loads delay the only agent; ending what is kept takes another 20 ms",
    ),
    Goal(
        "first-agent",
        "execve of pi-subagents call → execve of the agent",
        110,
        "ms",
        "250",
        reason="interpreter, asyncio and msgspec alone are 70 % of it, by instructions counted with callgrind",
    ),
    Goal("list-profiles", "call list_subagent_profiles", 90, "ms", "200"),
    Goal(
        "warm-4-latency",
        "4 tasks of two turns, 0.5 s latency / bare pi calls",
        1.0,
        "×",
        "1.17",
        Race(Cell(0.5, 4, 16), "warm", "bare"),
        reason="the last two agents are started when the first two have been silent for 80 ms: until then they may be "
        "computing, and soon free. Bare calls start all four at once, which takes longer where the model is quick",
    ),
    Goal(
        "warmed-64-ideal",
        "64 tasks, 0.5 s latency, 16 at once, warm host / ideal",
        1.10,
        "×",
        "1.19",
        Race(Cell(0.5, 64, 16), "warmed", IDEAL),
        reason="pi takes 17 to 30 ms of CPU to begin each fresh conversation and about as much for a task, 64 times; "
        "the first 16 begin at the same moment on two cores",
    ),
    Goal(
        "cli-16-quickest",
        "16 tasks from the command line / the quickest peer",
        1.0,
        "×",
        "–",
        Race(Cell(0.0, 16), "cli", QUICKEST),
        reason="the peer starts no process at all, ours starts two agents, half a second each, for what it keeps apart",
    ),
    Goal("memory-64", "memory of the engine with 64 agents", 53, "MB", "53"),
    Goal("memory-growth", "its growth over a million events", 0.14, "MB", "0.14"),
)


@dataclass(frozen=True)
class Row:
    """A goal beside what was measured: one value for each round, none if it was not measured."""

    goal: Goal
    values: Sequence[float]
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def is_met(self) -> bool | None:
        """None if it was not measured."""
        return self.median <= self.goal.most if self.values else None

    @property
    def mark(self) -> str:
        return {None: "–", True: "✓", False: "✗"}[self.is_met]

    @property
    def reached(self) -> str:
        return f"{self.median:.3g} {self.goal.unit}" if self.values else "–"

    @property
    def spread(self) -> str:
        """The lowest and the highest round: far apart means that others used the machine."""
        return f"{min(self.values):.3g}–{max(self.values):.3g}" if self.values else "–"

    @property
    def why(self) -> str:
        """Why the goal is missed; empty if it is not."""
        if self.is_met is not False:
            return ""
        return self.goal.reason or "no reason is known yet"

    def to_json(self) -> dict[str, Any]:
        """Everything there is to know, for programs."""
        return {
            "key": self.goal.key,
            "label": self.goal.label,
            "goal": self.goal.most,
            "unit": self.goal.unit,
            "before": self.goal.before,
            "median": self.median if self.values else None,
            "low": min(self.values, default=None),
            "high": max(self.values, default=None),
            "rounds": len(self.values),
            "values": list(self.values),
            "met": self.is_met,
            "note": self.note,
            "reason": self.why,
        }


def rows_of(values: Mapping[str, Sequence[float]], notes: Mapping[str, str]) -> list[Row]:
    """Every goal, in order, whether it was measured or not."""
    return [Row(goal, values.get(goal.key, ()), notes.get(goal.key, "")) for goal in GOALS]


def rows_of_json(kept: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The same from an earlier run; goals and reasons are those of today."""
    return rows_of({one["key"]: one["values"] for one in kept}, {one["key"]: one["note"] for one in kept})


def table(rows: Sequence[Row]) -> str:
    """The one table that says how far we are."""
    head = f"  {'goal':<{_LABEL_WIDTH}}{'reached':>10}{'at most':>10}{'rounds between':>16}{'rounds':>8}  before"
    lines = [head]
    for row in rows:
        most = f"{row.goal.most:g} {row.goal.unit}"
        cells = f"{row.reached:>10}{most:>10}{row.spread:>16}{len(row.values):>8}  {row.goal.before}"
        lines.append(f"{row.mark} {row.goal.label:<{_LABEL_WIDTH}}{cells}")
        lines += [f"    {words}" for words in (row.note, row.why and f"why not: {row.why}") if words]
    return "\n".join(lines) + "\n"


def markdown(rows: Sequence[Row]) -> str:
    """The same for the documentation."""
    lines = ["| | goal | reached | at most | rounds between | rounds | before |", "|" + " --- |" * 7]
    for row in rows:
        most = f"{row.goal.most:g} {row.goal.unit}"
        cells = (row.mark, row.goal.label, row.reached, most, row.spread, str(len(row.values)), row.goal.before)
        lines.append("| " + " | ".join(cells) + " |")
    missed = [f"- ✗ {row.goal.label}: {row.why}" for row in rows if row.why]
    noted = [f"- {row.goal.label}: {row.note}" for row in rows if row.note]
    return "\n".join([*lines, *([""] if missed or noted else []), *missed, *noted]) + "\n"
