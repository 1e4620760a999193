"""Moments on the command line: so long ago, or a date."""

from __future__ import annotations

import re
from datetime import datetime

import click

from pi_subagents.clock import now_ms

_SPAN = re.compile(r"(?P<count>\d{1,6})(?P<unit>[smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def moment(text: str) -> int:
    """Milliseconds since the epoch for `2h`, `3d`, `2026-11-01` or `2026-11-01T14:30`, dates in local time."""
    if span := _SPAN.fullmatch(text.strip()):
        return now_ms() - int(span["count"]) * _SECONDS[span["unit"]] * 1000
    try:
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(
            f"{text!r} is no time; give a span such as 30m, 2h or 3d, or a date such as 2026-11-01"
        ) from None
