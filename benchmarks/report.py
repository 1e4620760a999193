"""What remains of a run: the table of goals, `benchmarks/results/latest.*`, and if asked for, the documentation."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import plot
from benchmarks.goals import Row, markdown, table
from benchmarks.machine import BUSY_SHARE, busy_share, load_per_core, machine, say

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PICTURE = ROOT / "docs" / "images" / "benchmarks.svg"
PAGE = ROOT / "docs" / "guides" / "benchmarks.md"
_WRITTEN = re.compile(r"(<!-- written by \./scripts/bench --docs -->\n).*?(<!-- until here -->\n)", re.DOTALL)


def add_options(parser: argparse.ArgumentParser) -> None:
    """What every run with goals can be told."""
    parser.add_argument("--docs", action="store_true", help="also renew picture and table of docs/guides/benchmarks.md")


@contextmanager
def watched(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What is kept of a run, with how much others used the machine meanwhile."""
    start, before, load = time.monotonic(), busy_share(), load_per_core()
    if before > BUSY_SHARE:
        say(f"warning: others use {100 * before:.0f} % of this machine (load {load:.1f} per core); ratios suffer less")
    # Where peers are is nobody's business.
    told = {name: value for name, value in vars(options).items() if name not in ("kept", "peer", "peers")}
    kept: dict[str, Any] = {"machine": machine(), "options": told, "parts": {}}
    kept |= {"date": datetime.now(UTC).date().isoformat(), "busy_share_before": before, "load_per_core_before": load}
    kept |= {"busy_share_after": before, "took_s": 0.0}  # until it is known
    yield kept
    kept |= {"busy_share_after": busy_share(), "took_s": time.monotonic() - start}


def conditions(kept: Mapping[str, Any]) -> str:
    """How far the figures can be trusted."""
    busy = kept["busy_share_before"], kept["busy_share_after"]
    words = (
        f"Others used {100 * busy[0]:.0f} % of the machine before and {100 * busy[1]:.0f} % after; "
        f"it took {kept['took_s'] / 60:.1f} minutes on {kept['machine']['cores']} cores."
    )
    if max(busy) <= BUSY_SHARE:
        return words
    return f"{words}\nThat is too much for absolute figures; ratios are of the same round and suffer less."


def keep(kept: dict[str, Any], rows: Sequence[Row]) -> None:
    """Write what was measured so far."""
    kept["goals"] = [row.to_json() for row in rows]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latest.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def publish(kept: dict[str, Any], rows: Sequence[Row], *, others: str = "", docs: bool = False) -> str:
    """Write all files; returns what the terminal shows: the goals first, then other tables."""
    keep(kept, rows)
    picture = plot.svg(rows, plot.times_of(kept["parts"].get("race", {})))
    (RESULTS / "latest.svg").write_text(picture, encoding="utf-8")
    problem = plot.write_png(RESULTS / "latest.svg", plot.size_of(picture), RESULTS / "latest.png")
    lines = [table(rows), others, conditions(kept), problem, f"Kept in {RESULTS.relative_to(ROOT)}/latest.*"]
    if docs:
        PICTURE.write_text(picture, encoding="utf-8")
        PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), _section(kept, rows)), encoding="utf-8")
        lines.append(f"Renewed {PICTURE.relative_to(ROOT)} and {PAGE.relative_to(ROOT)}")
    return "\n".join(line for line in lines if line) + "\n"


def _section(kept: Mapping[str, Any], rows: Sequence[Row]) -> str:
    return f"{markdown(rows)}\nMeasured on {kept['date']}. {conditions(kept)}\n"


def renewed(page: str, section: str) -> str:
    """The page with the section in its place; raises SystemExit if it has none."""
    if not _WRITTEN.search(page):
        raise SystemExit("docs/guides/benchmarks.md has no place for the goals")
    return _WRITTEN.sub(lambda found: f"{found[1]}\n{section}\n{found[2]}", page)
