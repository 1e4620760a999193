"""What people do in `pi` itself, with the words that every message about it ends with.

They start it through `pi-subagents pi`, which works whether `pi` is on the PATH or not.
"""

from __future__ import annotations

import re

LOGIN = "run `pi-subagents pi` and type `/login`"
"""How `pi` gets a key or a model."""
TRUST_HERE = "run `pi-subagents pi` here and type `/trust`"
"""How `pi` is told to load what a project brings."""

# What pi says where it has nobody to ask, in all its modes and versions.
_MISSING = re.compile(r"^.*(?:\bNo API key\b|\bNo models? (?:available|selected)\b)[^\n.]*", re.MULTILINE)


def with_login(message: str) -> str:
    """A failure's message; where pi had no key or no model, its own advice is replaced by what to do outside of pi."""
    missing = _MISSING.search(message)
    return f"{missing[0].strip()}. {LOGIN[0].upper()}{LOGIN[1:]}." if missing else message
