"""Time on the command line: how long, and since when."""

from __future__ import annotations

import re
from datetime import datetime

import click

from pi_subagents.clock import now_ms

_SPAN = re.compile(r"(?P<count>\d{1,6})(?P<unit>[smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_DURATION = re.compile(rf"(?P<bare>{_NUMBER})|(?=.)" + "".join(rf"(?:(?P<{u}>{_NUMBER}){u})?" for u in "dhms"))


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click alone
    """So many seconds: `90`, `90s`, `5m`, `1h30m`; at least `min_s`."""

    name = "time"

    def __init__(self, min_s: float = 0) -> None:
        self._min_s = min_s

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds; fails with what is possible instead."""
        if isinstance(value, (int, float)):
            return float(value)
        found = _DURATION.fullmatch(str(value).strip().lower())
        if found is None:
            self.fail(f"{value!r} is not a duration; use 90, 90s, 5m or 1h30m", param, ctx)
        seconds = _sum(found.groupdict())
        if seconds < self._min_s:
            self.fail(f"{value!r} is too short; use at least {self._min_s:g}s", param, ctx)
        return seconds


def _sum(parts: dict[str, str | None]) -> float:
    return sum(float(count) * _SECONDS.get(unit, 1) for unit, count in parts.items() if count)


def moment(text: str) -> int:
    """Milliseconds since the epoch for `2h`, `3d`, `2026-11-01` or `2026-11-01T14:30`, dates in local time."""
    if span := _SPAN.fullmatch(text.strip()):
        return now_ms() - int(span["count"]) * _SECONDS[span["unit"]] * 1000
    try:
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(
            f"{text!r} is not a time; use a span such as 30m, 2h or 3d, or a date such as 2026-11-01"
        ) from None
