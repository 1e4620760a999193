"""Regular expressions that are compiled when they are first used.

Compiling one takes longer than most of our functions run, and every command loads dozens of them that it never needs.
"""

from __future__ import annotations

import re
from typing import Any, cast


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` returns, a little later; a mistake in it is raised by the first use."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._source = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._source), name)
        setattr(self, name, found)  # the next use does not come here
        return found
