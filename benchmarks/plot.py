"""The ratios as a picture: bars beside bare `pi` calls, as an SVG and as the PNG that a browser makes of it."""

from __future__ import annotations

import html
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=2")
_BROWSER_S = 60
_COLOURS = ("#8b949e", "#1f77b4", "#2ca02c", "#d6862b", "#9467bd", "#8c564b", "#17a2b8")
_PANEL_WIDTH, _PANEL_HEIGHT = 430, 250
_LEFT, _TOP, _GAP, _BOTTOM = 50, 78, 40, 46
_BAR_GAP, _GROUP_GAP = 3, 22
_MAX_STEPS = 8


@dataclass(frozen=True)
class Panel:
    """Groups of bars: for each group's name a value for each series; lines are drawn at `marks`."""

    title: str
    groups: Mapping[str, Sequence[float]]
    marks: Sequence[float] = (1.0,)


def panels_of(found: Mapping[str, Any]) -> tuple[list[str], list[Panel]]:
    """The series, and a panel for each latency, from what the delegations took."""
    others = [name for name in found["subjects"] if name != "bare"]
    groups: dict[tuple[float, int], dict[str, list[float]]] = {}
    for cell in found["cells"]:
        panel = groups.setdefault((cell["latency_s"], cell["jobs"]), {})
        name = f"{cell['tasks']} task{'s' if cell['tasks'] > 1 else ''}"
        panel[name] = [cell["wall_ratios"][one] for one in others]
    titles = {key: f"model latency {key[0]:g} s, {key[1]} at once" for key in groups}
    return [found["subjects"][name] for name in others], [Panel(titles[key], one) for key, one in groups.items()]


def svg(title: str, series: Sequence[str], panels: Sequence[Panel]) -> str:
    """The picture; all panels have the same scale."""
    width, height = size_of(panels)
    values = [value for panel in panels for bars in panel.groups.values() for value in bars]
    top = max([1.0, *values]) * 1.1
    body = [_text(_LEFT, 26, title, size=16, weight="bold"), *_legend(series)]
    for number, panel in enumerate(panels):
        body += _panel(panel, _LEFT + number * (_PANEL_WIDTH + _GAP), top)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _legend(series: Sequence[str]) -> list[str]:
    parts, x = [], float(_LEFT)
    for number, name in enumerate(series):
        parts.append(f'<rect x="{x:.0f}" y="40" width="11" height="11" fill="{_colour(number)}"/>')
        parts.append(_text(x + 16, 50, name))
        x += 34 + 7 * len(name)
    return parts


def _panel(panel: Panel, left: float, top: float) -> list[str]:
    floor = _TOP + _PANEL_HEIGHT

    def height(value: float) -> float:
        return _PANEL_HEIGHT * value / top

    parts = [_text(left, _TOP - 8, panel.title, weight="bold")]
    step = next(size for size in (0.25, 0.5, 1.0, 2.0, 5.0, top) if top / size <= _MAX_STEPS)
    for number in range(int(top / step) + 1):
        y = floor - height(number * step)
        parts.append(_line(left, y, left + _PANEL_WIDTH, "#e5e7eb"))
        parts.append(_text(left - 6, y + 4, f"{number * step:g}×", size=10, anchor="end"))
    slot = _PANEL_WIDTH / max(1, len(panel.groups))
    for position, (name, bars) in enumerate(panel.groups.items()):
        start, bar = left + position * slot + _GROUP_GAP / 2, (slot - _GROUP_GAP) / max(1, len(bars))
        for number, value in enumerate(bars):
            x, y = start + number * bar, floor - height(value)
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{bar - _BAR_GAP:.1f}" height="{height(value):.1f}" '
                f'fill="{_colour(number)}"><title>{html.escape(name)}: {value:.2f}×</title></rect>'
            )
            parts.append(_text(x + (bar - _BAR_GAP) / 2, y - 4, f"{value:.2f}", size=10, anchor="middle"))
        parts.append(_text(left + (position + 0.5) * slot, floor + 18, name, anchor="middle"))
    return parts + [_line(left, floor - height(mark), left + _PANEL_WIDTH, "#444444", "5 4") for mark in panel.marks]


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _line(x: float, y: float, to_x: float, colour: str, dashes: str = "none") -> str:
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{y:.1f}" stroke="{colour}" stroke-dasharray="{dashes}"/>'
    )


def _text(x: float, y: float, words: str, *, size: int = 12, weight: str = "normal", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" '
        f'fill="#1f2328">{html.escape(words)}</text>'
    )


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


def size_of(panels: Sequence[Panel]) -> tuple[int, int]:
    """Width and height of the picture."""
    return _LEFT + len(panels) * (_PANEL_WIDTH + _GAP), _TOP + _PANEL_HEIGHT + _BOTTOM
