"""Reads findings out of the text that pi's tools return, so that scripted answers can quote them.

A tool may have failed (no `rg` on the PATH, an empty directory): each function has an answer for that too.
"""

from __future__ import annotations

import re
from collections import Counter

_MATCH = re.compile(r"^(?P<path>[^\s:]+):\d+: ", re.MULTILINE)
_COUNT = re.compile(r"^\s*(?P<lines>\d+) (?P<path>\S.*\.py)$", re.MULTILINE)
_HEADING = re.compile(r"^#+ +(?P<title>.+)$", re.MULTILINE)
_MAX_ENTRIES = 12


def entries(listing: str) -> list[str]:
    """The visible names in an `ls` result, shortened to a dozen."""
    names = [line for line in listing.splitlines() if line and not line.startswith((".", "["))]
    return names if len(names) <= _MAX_ENTRIES else [*names[:_MAX_ENTRIES], "…"]


def first_heading(markdown: str) -> str:
    """The first heading of a Markdown text."""
    found = _HEADING.search(markdown)
    return found["title"].strip() if found else "a project without a heading"


def setting(key: str, toml: str) -> str:
    """The string value of a key in a TOML text, or in a `grep` result that quotes its line."""
    found = re.search(rf'(?:^|\s){re.escape(key)} = "([^"]*)"', toml)
    return found[1] if found else "(not stated)"


def matches_per_file(search: str) -> list[tuple[str, int]]:
    """Files in a `grep` result with their number of matches, most first."""
    counts = Counter(found["path"] for found in _MATCH.finditer(search))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def largest_file(counts: str) -> tuple[str, int] | None:
    """The Python file with most lines in the output of `wc -l`."""
    sizes = [(found["path"], int(found["lines"])) for found in _COUNT.finditer(counts)]
    return max(sizes, key=lambda size: size[1], default=None)
