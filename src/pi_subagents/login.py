"""How `pi` gets a key or a model: the one sentence that every message about a missing one ends with."""

from __future__ import annotations

import re

LOGIN = "run `pi-subagents pi` and type `/login`"

# What pi says where it has nobody to ask, in all its modes and versions.
_MISSING = re.compile(r"^.*(?:\bNo API key\b|\bNo models? (?:available|selected)\b)[^\n.]*", re.MULTILINE)


def with_login(message: str) -> str:
    """A failure's message; where pi had no key or no model, its own advice is replaced by what to do outside of pi."""
    missing = _MISSING.search(message)
    return f"{missing[0].strip()}. {LOGIN[0].upper()}{LOGIN[1:]}." if missing else message
