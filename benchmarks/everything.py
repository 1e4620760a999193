"""Everything that is measured, in one run on the offline model: `./scripts/bench [--quick] [--peers DIRECTORY]`.

What there are goals for gets most of the time, the table of all numbers of tasks what is left.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import delegation, memory, pipeline, race, report, sessions, startup
from benchmarks.figures import Figure
from benchmarks.machine import say

_LEFT_S = 60.0
"""What the goals leave for the last part."""

Part = tuple[str, Callable[[], Any], Callable[[Any], list[Figure]]]


def parts(options: argparse.Namespace, deadline: float) -> list[Part]:
    """What there is to measure; the last two take the time that is left."""
    quick = options.quick

    def left() -> float:
        return deadline - time.monotonic()

    return [
        ("memory", lambda: memory.measure_as_told(quick), memory.figures),
        ("startup", lambda: startup.measure(3 if quick else 10), startup.figures),
        ("pipeline", lambda: pipeline.measure_as_told(quick), pipeline.figures),
        ("sessions", lambda: sessions.measure((100, 500) if quick else (100, 2000), 100_000), sessions.figures),
        ("race", lambda: race.measure_as_told(options, left() - _LEFT_S), lambda _found: []),
        ("delegation", lambda: delegation.measure_as_told(options, left()), delegation.figures),
    ]


def tables(kept: dict[str, Any], found: dict[str, list[Figure]]) -> str:
    """All tables but that of the goals."""
    lines = [delegation.table(kept["parts"]["delegation"])]
    for name in ("delegation", *(name for name in found if name != "delegation")):
        lines += [name, *(figure.line() for figure in found[name]), ""] if found[name] else []
    return "\n".join(lines)


def main() -> None:
    """Measure everything."""
    start = time.monotonic()
    parser = argparse.ArgumentParser(description="Measures everything. Single parts: see scripts/bench.")
    delegation.add_options(parser)
    report.add_options(parser)
    options = parser.parse_args()
    race.given_peers(options)  # better now than after minutes
    found: dict[str, list[Figure]] = {}
    with report.watched(options) as kept:
        for name, measure, figures in parts(options, start + delegation.seconds(options)):
            say(f"measuring: {name}")
            kept["parts"][name] = measure()
            found[name] = figures(kept["parts"][name])
    kept["figures"] = [
        {"part": name, "label": one.label, "value": one.value, "unit": one.unit, "goal": one.goal, "met": one.is_met}
        for name, figures in found.items()
        for one in figures
    ]
    rows = race.rows(kept["parts"]["race"], kept["parts"]["memory"])
    sys.stdout.write(report.publish(kept, rows, others=tables(kept, found), docs=options.docs))


if __name__ == "__main__":
    main()
