"""Everything that is measured, in one run on the offline model: `./scripts/bench [--quick] [--peer "name=command"]`.

Prints the tables, and writes `latest.json`, `latest.svg` and `latest.png` into `benchmarks/results/`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import delegation, memory, pipeline, plot, sessions, startup
from benchmarks.delegation import ROOT
from benchmarks.figures import Figure
from benchmarks.machine import BUSY_SHARE, busy_share, load_per_core, machine, say

RESULTS = ROOT / "benchmarks" / "results"

Part = tuple[str, Callable[[], Any], Callable[[Any], list[Figure]]]


def parts(options: argparse.Namespace, deadline: float) -> list[Part]:
    """What there is to measure; the last part takes the time that is left."""
    quick = options.quick
    return [
        ("startup", lambda: startup.measure(3 if quick else 10), startup.figures),
        ("pipeline", lambda: pipeline.measure_as_told(quick), pipeline.figures),
        ("memory", lambda: memory.measure_as_told(quick), memory.figures),
        ("sessions", lambda: sessions.measure((100, 1000) if quick else (100, 10_000), 100_000), sessions.figures),
        ("delegation", lambda: delegation.measure_as_told(options, deadline - time.monotonic()), delegation.figures),
    ]


def report(kept: dict[str, Any], found: dict[str, list[Figure]]) -> str:
    """All tables."""
    busy = kept["busy_share_before"], kept["busy_share_after"]
    lines = [delegation.table(kept["parts"]["delegation"])]
    for name in ("delegation", *(name for name in found if name != "delegation")):
        lines += [name, *(figure.line() for figure in found[name]), ""]
    lines.append(
        f"Others used {100 * busy[0]:.0f} % of the machine before and {100 * busy[1]:.0f} % after; "
        f"it took {kept['took_s'] / 60:.1f} minutes on {kept['machine']['cores']} cores."
    )
    if max(busy) > BUSY_SHARE:
        lines.append("That is too much for absolute figures; ratios are of the same round and suffer less.")
    return "\n".join(lines)


def write_results(kept: dict[str, Any]) -> list[str]:
    """The figures and the picture; returns what there is to say about the files."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latest.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    series, panels = plot.panels_of(kept["parts"]["delegation"])
    picture = RESULTS / "latest.svg"
    picture.write_text(plot.svg("Time for N tasks beside bare pi calls", series, panels), encoding="utf-8")
    problem = plot.write_png(picture, plot.size_of(panels), RESULTS / "latest.png")
    return [problem] if problem else []


def main() -> None:
    """Measure everything."""
    start = time.monotonic()
    parser = argparse.ArgumentParser(description="Measures everything. Single parts: see scripts/bench.")
    delegation.add_options(parser)
    options = parser.parse_args()
    delegation.named_commands(options.peer)  # better now than after minutes
    before = busy_share()
    load = load_per_core()
    kept: dict[str, Any] = {"machine": machine(), "options": vars(options), "busy_share_before": before, "parts": {}}
    if before > BUSY_SHARE:
        say(f"warning: others use {100 * before:.0f} % of this machine (load {load:.1f} per core); ratios suffer less")
    found: dict[str, list[Figure]] = {}
    for name, measure, figures in parts(options, start + 60 * options.minutes):
        say(f"measuring: {name}")
        kept["parts"][name] = measure()
        found[name] = figures(kept["parts"][name])
    kept |= {"load_per_core_before": load, "busy_share_after": busy_share(), "took_s": time.monotonic() - start}
    kept["figures"] = [
        {"part": name, "label": one.label, "value": one.value, "unit": one.unit, "goal": one.goal, "met": one.is_met}
        for name, figures in found.items()
        for one in figures
    ]
    notes = write_results(kept)
    sys.stdout.write("\n".join([report(kept, found), *notes, f"Kept in {RESULTS.relative_to(ROOT)}/latest.*"]) + "\n")


if __name__ == "__main__":
    main()
