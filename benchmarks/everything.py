"""Everything that is measured, in one run on the offline model: `./scripts/bench [--quick] [--peer "name=command"]`.

First what there are goals for, then the rest as far as there is time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import delegation, memory, pipeline, race, report, sessions, startup
from benchmarks.figures import Figure
from benchmarks.goals import ORIGINAL
from benchmarks.machine import say

_GOALS_SHARE = 0.65
"""Of the time, for the goals; the other parts need two minutes."""

Part = tuple[str, Callable[[], Any], Callable[[Any], list[Figure]]]


def parts(options: argparse.Namespace, deadline: float) -> list[Part]:
    """What there is to measure beside the goals; the last part takes the time that is left."""
    quick = options.quick
    return [
        ("memory", lambda: memory.measure_as_told(quick), memory.figures),
        ("startup", lambda: startup.measure(3 if quick else 10), startup.figures),
        ("pipeline", lambda: pipeline.measure_as_told(quick), pipeline.figures),
        ("sessions", lambda: sessions.measure((100, 1000) if quick else (100, 10_000), 100_000), sessions.figures),
        ("delegation", lambda: delegation.measure_as_told(options, deadline - time.monotonic()), delegation.figures),
    ]


def tables(kept: dict[str, Any], found: dict[str, list[Figure]]) -> str:
    """All tables but that of the goals."""
    lines = [delegation.table(kept["parts"]["delegation"])]
    for name in ("delegation", *(name for name in found if name != "delegation")):
        lines += [name, *(figure.line() for figure in found[name]), ""]
    return "\n".join(lines)


def main() -> None:
    """Measure everything."""
    start = time.monotonic()
    parser = argparse.ArgumentParser(description="Measures everything. Single parts: see scripts/bench.")
    delegation.add_options(parser)
    report.add_options(parser)
    options = parser.parse_args()
    delegation.named_commands(options.peer)  # better now than after minutes
    found: dict[str, list[Figure]] = {}
    with report.watched(options) as kept:
        kept["parts"]["race"] = race.measure_as_told(options, 60 * options.minutes * _GOALS_SHARE)
        # It refuses more than sixteen tasks.
        options.peer = [peer for peer in options.peer if not peer.startswith(f"{ORIGINAL}=")]
        for name, measure, figures in parts(options, start + 60 * options.minutes):
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
