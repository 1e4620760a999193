"""What somebody may have meant who named something that there is not."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(wanted: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like it, if one does, whatever the case."""
    folded = {name.lower(): name for name in reversed(list(known))}
    close = get_close_matches(wanted.strip().lower(), folded, n=1)
    return folded[close[0]] if close else None


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """The question as a sentence to append, with a blank before it; nothing where no name comes close."""
    name = closest(wanted, known)
    return f' Did you mean "{name}"?' if name is not None else ""
