"""The goals as a picture: what sixteen tasks take, and how far from its goal each figure is.

An SVG that is legible on light and dark pages, and the PNG that a browser makes of it.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.goals import Row
from benchmarks.peers import ORIGINAL, QUICKEST

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=2")
_BROWSER_S = 60
_STYLE = """
  .page { fill: #ffffff } .word { fill: #1f2328 } .faint { fill: #59636e } .line { stroke: #1f2328 }
  .other { fill: #afb8c1 } .ours, .met { fill: #2da44e } .missed { fill: #d4771c }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .word { fill: #e6edf3 } .faint { fill: #9198a1 } .line { stroke: #e6edf3 }
    .other { fill: #6e7681 } .ours, .met { fill: #3fb950 } .missed { fill: #e3913c }
  }
"""
_WIDTH, _MARGIN, _LABELS, _ROW, _BAR = 960, 24, 400, 26, 14
_TIMES_WIDTH = 340
_GOAL_WIDTH = 200
"""A figure that is just as good as its goal has a bar of this length."""
_MOST = 1.3
"""Longer bars are cut: by how much a goal is missed is said by the number."""
_NAMES = {
    ORIGINAL: "the original extension",
    "bare": "bare pi calls",
    QUICKEST: "the quickest peer, without isolation",
    "cli": "pi-subagents, from the command line",
    "warmed": "pi-subagents, in a host that is warm",
}


def times_of(found: Mapping[str, Any]) -> dict[str, float]:
    """Seconds that sixteen tasks took each subject, the slowest first."""
    cells = [cell for cell in found.get("cells", ()) if cell["tasks"] == 16]
    times = {_NAMES.get(name, name): wall for cell in cells for name, wall in cell["wall_s"].items()}
    return dict(sorted(times.items(), key=lambda one: -one[1]))


def svg(rows: Sequence[Row], times: Mapping[str, float]) -> str:
    """The picture."""
    body: list[str] = []
    y = 34.0
    if times:
        body.append(_text(_MARGIN, y, "Seconds for 16 small tasks, 4 at once", size=16, weight="bold"))
        for name, seconds in times.items():
            y += _ROW
            body += _time(y, name, seconds, seconds / max(times.values()))
        y += 46
    body.append(_text(_MARGIN, y, "Goals, and what was reached", size=16, weight="bold"))
    at, top = _MARGIN + _LABELS + _GOAL_WIDTH, y + 10
    body.append(_text(at, y, "goal", kind="faint", anchor="middle"))
    for row in rows:
        y += _ROW
        body += _row(y, row)
    body.append(
        f'<line class="line" x1="{at}" y1="{top:.0f}" x2="{at}" y2="{y + 8:.0f}" stroke-width="1.5" '
        'stroke-dasharray="4 3"/>'
    )
    height = round(y + 30)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="system-ui, sans-serif">\n<style>{_STYLE}</style>\n'
        f'<rect class="page" width="{_WIDTH}" height="{height}" rx="8"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _time(y: float, name: str, seconds: float, share: float) -> list[str]:
    x, width = _MARGIN + _LABELS, _TIMES_WIDTH * share
    kind = "ours" if name.startswith("pi-subagents") else "other"
    return [_text(x - 10, y, name, anchor="end"), _bar(x, y, width, kind), _text(x + width + 8, y, f"{seconds:.2f} s")]


def _row(y: float, row: Row) -> list[str]:
    x = _MARGIN + _LABELS
    label = _text(x - 10, y, row.goal.label, anchor="end")
    if not row.values:
        return [label, _text(x, y, "not measured", kind="faint")]
    width = _GOAL_WIDTH * min(row.median / row.goal.most, _MOST)
    words = f"{row.mark} {row.reached}"
    goal = f"(at most {row.goal.most:g})"
    end = x + _GOAL_WIDTH * _MOST
    return [
        label,
        _bar(x, y, max(width, 1.0), "met" if row.is_met else "missed"),
        _text(end + 12, y, words, weight="bold"),
        _text(_WIDTH - _MARGIN, y, goal, kind="faint", anchor="end"),
    ]


def _bar(x: float, y: float, width: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y - 11:.1f}" width="{width:.1f}" height="{_BAR}" rx="2"/>'


def _text(
    x: float, y: float, words: str, *, size: int = 13, weight: str = "normal", anchor: str = "start", kind: str = "word"
) -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{html.escape(words)}</text>'
    )


def size_of(picture: str) -> tuple[int, int]:
    """Width and height of a picture."""
    found = re.search(r'width="(\d+)" height="(\d+)"', picture)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def write_png(picture: Path, size: tuple[int, int], target: Path) -> str | None:
    """Let a browser paint the picture; returns why there is none."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        return f"no PNG: none of {', '.join(_BROWSERS)} was found on the PATH"
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        own = (f"--user-data-dir={scratch}", f"--window-size={size[0]},{size[1]}", f"--screenshot={target}")
        target.unlink(missing_ok=True)
        try:
            command = [browser, *_FLAGS, *own, picture.resolve().as_uri()]
            subprocess.run(command, capture_output=True, timeout=_BROWSER_S, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            return f"no PNG: {browser} failed ({error})"
    return None if target.exists() else f"no PNG: {browser} made none"
