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

_GOALS_SHARE = 0.75
"""Of the time; the other parts need one to two minutes."""

Part = tuple[str, Callable[[], Any], Callable[[Any], list[Figure]]]


def parts(options: argparse.Namespace, deadline: float) -> list[Part]:
    """What there is to measure beside the goals; the last part takes the time that is left."""
    quick = options.quick
    return [
        ("startup", lambda: startup.measure(3 if quick else 10), startup.figures),
        ("pipeline", lambda: pipeline.measure_as_told(quick), pipeline.figures),
        ("sessions", lambda: sessions.measure((100, 500) if quick else (100, 2000), 100_000), sessions.figures),
        ("delegation", lambda: delegation.measure_as_told(options, deadline - time.monotonic()), delegation.figures),
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
    seconds = delegation.seconds(options)
    with report.watched(options) as kept:
        kept["parts"]["memory"] = memory.measure_as_told(options.quick)
        found = {"memory": memory.figures(kept["parts"]["memory"])}
        kept["parts"]["race"] = race.measure_as_told(options, start + _GOALS_SHARE * seconds - time.monotonic())
        rows = race.rows(kept["parts"]["race"], kept["parts"]["memory"])
        report.keep(kept, rows)  # whatever happens to the rest
        for name, measure, figures in parts(options, start + seconds):
            say(f"measuring: {name}")
            kept["parts"][name] = measure()
            found[name] = figures(kept["parts"][name])
    kept["figures"] = [
        {"part": name, "label": one.label, "value": one.value, "unit": one.unit, "goal": one.goal, "met": one.is_met}
        for name, figures in found.items()
        for one in figures
    ]
    sys.stdout.write(report.publish(kept, rows, others=tables(kept, found), docs=options.docs))


if __name__ == "__main__":
    main()
