"""What a part of the benchmark found: figures beside their goals, and ratios between subjects that took turns."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Measured = Mapping[str, float]
"""One measurement of one subject."""
Rounds = Mapping[str, Sequence[Measured]]
"""All measurements of every subject; the same position means the same round."""

_LABEL_WIDTH = 52


@dataclass(frozen=True)
class Cell:
    """So many tasks of two turns at one latency of the model, so many at once."""

    latency_s: float
    tasks: int
    jobs: int = 4

    @property
    def words(self) -> str:
        return f"{self.tasks} task{'s' if self.tasks > 1 else ''}, {self.latency_s:g} s latency, {self.jobs} at once"


@dataclass(frozen=True)
class Figure:
    """A number for people. The goal is the most it may be, or the least where `at_least` says so."""

    label: str
    value: float
    unit: str
    goal: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is reached; None if there is none."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def line(self) -> str:
        """The figure as a line of a table."""
        mark = {None: " ", True: "✓", False: "✗"}[self.is_met]
        bound = "at least" if self.at_least else "at most"
        goal = f"(goal: {bound} {_number(self.goal)} {self.unit})" if self.goal is not None else ""
        words = [f"{mark} {self.label:<{_LABEL_WIDTH}}{_number(self.value):>9} {self.unit:<4}", goal, self.note]
        return " ".join(word for word in words if word).rstrip()


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 100 else f"{value:.2f}"


def medians(rounds: Sequence[Measured]) -> dict[str, float]:
    """The median of everything that was measured in every round."""
    return {key: statistics.median(round_[key] for round_ in rounds) for key in rounds[0]}


def ratios(rounds: Rounds, base: str, key: str = "wall_s") -> dict[str, float]:
    """Every subject beside `base`: the median of the ratios within each round.

    A busy minute slows down all subjects of a round, so a ratio survives what an absolute time does not.
    """
    return {
        name: statistics.median(own[key] / other[key] for own, other in zip(measured, rounds[base], strict=True))
        for name, measured in rounds.items()
        if name != base
    }


def spread(rounds: Rounds, base: str, name: str, key: str = "wall_s") -> tuple[float, float]:
    """The lowest and the highest ratio of any round: far apart means that others used the machine."""
    single = [own[key] / other[key] for own, other in zip(rounds[name], rounds[base], strict=True)]
    return min(single), max(single)


def ideal_s(tasks: int, at_once: int, latency_s: float, turns: int) -> float:
    """What the model alone takes if nothing else takes any time."""
    return -(-tasks // at_once) * latency_s * turns
