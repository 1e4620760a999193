"""Figures as people read them: how long, how long ago, how many, how large, how dear."""

from __future__ import annotations

_UNITS = (("w", 604_800), ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))


def duration(seconds: float) -> str:
    """`0.4s`, `42.0s`, `3m 12s`, `2h 5m`: the two largest units."""
    if seconds < 60:
        return f"{max(seconds, 0):.1f}s"
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60}m {whole % 60}s"
    if whole < 86_400:
        return f"{whole // 3600}h {whole % 3600 // 60}m"
    return f"{whole // 86_400}d {whole % 86_400 // 3600}h"


def age(milliseconds: float) -> str:
    """`5s`, `3m`, `2h`, `4d`, `9w`: one unit, rounded down."""
    seconds = max(int(milliseconds / 1000), 0)
    unit, length = next(((unit, length) for unit, length in _UNITS if seconds >= length), _UNITS[-1])
    return f"{seconds // length}{unit}"


def age_of(at: int | None, now_ms: int) -> str:
    """How long ago a moment was; `–` where it is not known."""
    return "–" if at is None else age(now_ms - at)


def money(cost: float) -> str:
    """`$0.0042`: most runs cost less than a cent."""
    return f"${cost:.4f}"


def short_count(number: int) -> str:
    """`854`, `2.1k`, `35k`, `1.2M`: as exact as a glance needs."""
    for unit, size in (("M", 1_000_000), ("k", 1000)):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 10 * size else f"{number // size}{unit}"
    return str(number)


def data_size(size: int) -> str:
    """`812 B`, `14 kB`, `3.2 MB`."""
    if size < 1000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{size / 1000:.0f} kB"
    return f"{size / 1_000_000:.1f} MB" if size < 1_000_000_000 else f"{size / 1_000_000_000:.1f} GB"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
