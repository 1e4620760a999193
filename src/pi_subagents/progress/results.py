"""Tool results: how much `ls` and `find` found in a few words, and what any tool returned in a few lines."""

from __future__ import annotations

from collections.abc import Mapping

from pi_subagents.text import counted
from pi_subagents.text.cells import clip
from pi_subagents.text.harmless import clean

_CUT_KEYS = ("entryLimitReached", "resultLimitReached", "truncation", "truncated")
_MAX_CHARACTERS = 1024 * 1024
"""`pi` cuts its lists long before; what is larger is not counted line by line."""
_FIRST_LINES, _LAST_LINES = 8, 12
"""The end of an output tells how it went, its beginning what it is about."""
_MAX_CELLS = 500
_NOTHING = {"ls": "(empty directory)", "find": "No files found matching pattern"}


def summarise_tool_result(name: str, text: str, details: object = None) -> str | None:
    """`2 files, 1 dir`, `(empty)`, `3 matches`, with `+` if the list was cut; None for every other tool."""
    if name not in _NOTHING or len(text) > _MAX_CHARACTERS:
        return None
    listed, noticed = _split_notice(text)
    cut = noticed or (isinstance(details, Mapping) and any(details.get(key) for key in _CUT_KEYS))
    found = "" if listed.strip() == _NOTHING[name] else listed
    entries = [line for line in found.split("\n") if line.strip()]
    summary = _files_and_dirs(entries) if name == "ls" else counted(len(entries), "match", "matches")
    return summary + ("+" if cut else "")


def output_lines(text: str) -> list[str]:
    """What a tool returned, in some twenty lines at most; of a longer output the beginning and the end."""
    text = text.strip("\r\n").rstrip()
    if not text:
        return []
    lines = text.split("\n", _FIRST_LINES)
    if len(lines) > _FIRST_LINES:  # only as much is taken apart as is shown: an output may have millions of lines
        middle, *last = lines.pop().rsplit("\n", _LAST_LINES)
        hidden = middle.count("\n") + 1
        lines += [middle if hidden == 1 else f"... ({counted(hidden, 'more line')})", *last]
    # No character takes less than a cell often enough to matter: what lies beyond is not looked at.
    return [clip(clean(line[: 4 * _MAX_CELLS]).rstrip(), _MAX_CELLS) for line in lines]


def _split_notice(text: str) -> tuple[str, bool]:
    """The list without the paragraph in brackets with which pi says that it cut it."""
    listed, gap, last = text.rstrip().rpartition("\n\n")
    noticed = gap and last.startswith("[") and last.endswith("]") and "limit reached" in last
    return (listed, True) if noticed and "\n" not in last else (text, False)


def _files_and_dirs(entries: list[str]) -> str:
    dirs = sum(entry.rstrip().endswith("/") for entry in entries)
    files = len(entries) - dirs
    parts = [counted(files, "file")] if files else []
    return ", ".join(parts + ([counted(dirs, "dir")] if dirs else [])) or "(empty)"
