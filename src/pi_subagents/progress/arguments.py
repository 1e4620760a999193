"""Values for a line, from a tool call's arguments: any key may be missing, of the wrong type, or huge."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.text.cells import ELLIPSIS
from pi_subagents.text.harmless import clean
from pi_subagents.text.locations import shorten_path

MAX_VALUE_CHARS = 4096
"""More than any line shows; longer values are cut before they are looked at closely."""
_MAX_NUMBER = 10**12
"""Beyond any line of any file, so it is no line number."""
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), skipkeys=True, default=lambda value: "?")


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a tool was called with, and where the agent stands."""

    values: Mapping[str, object]
    cwd: str | None = None
    home: str | None = None

    def text(self, *keys: str) -> str | None:
        """The first of `keys` that holds text worth showing, on one line."""
        return next((text for key in keys if (text := one_line(self.values.get(key)))), None)

    def path(self, *keys: str) -> str | None:
        """The first of `keys` that holds a path, in its shortest form."""
        text = self.text(*keys)
        return None if text is None else shorten_path(text, cwd=self.cwd, home=self.home)

    def number(self, *keys: str) -> int | None:
        """The first of `keys` that holds a whole number from zero up."""
        return next((n for key in keys if (n := _whole_number(self.values.get(key))) is not None), None)

    def items(self, key: str) -> list[object] | None:
        """The list under `key`."""
        value = self.values.get(key)
        return list(value) if isinstance(value, (list, tuple)) else None

    def texts(self, key: str) -> list[str]:
        """The texts in the list under `key`; a single text counts as a list of one."""
        value = self.values.get(key)
        values = [value] if isinstance(value, str) else self.items(key) or []
        return [text for item in values if (text := one_line(item))]

    def paths(self, key: str) -> list[str]:
        """The paths in the list under `key`, each in its shortest form."""
        return [shorten_path(text, cwd=self.cwd, home=self.home) for text in self.texts(key)]

    def is_absent(self, key: str) -> bool:
        return self.values.get(key) in (None, "")


def one_line(value: object) -> str | None:
    """A text value, safe to print and on one line; None for anything else and for blanks."""
    if not isinstance(value, str):
        return None
    text = bounded(value)
    return clean(text).strip() or None


def bounded(text: str) -> str:
    """The text itself unless it is longer than any line."""
    return text if len(text) <= MAX_VALUE_CHARS else text[:MAX_VALUE_CHARS] + ELLIPSIS


def compact_json(value: object, max_chars: int) -> str:
    """A value as JSON without spaces, not much longer than `max_chars`; empty if it cannot be written."""
    pieces: list[str] = []
    size = 0
    try:
        for piece in _JSON.iterencode(_cut_texts(value)):
            pieces.append(piece)
            size += len(piece)
            if size > max_chars:
                break
    except (ValueError, RecursionError):
        return ""
    return clean("".join(pieces))


def parse_json(text: str) -> object:
    """The value a JSON text stands for, None if it is no JSON."""
    try:
        return decode_json(text, object)
    except JsonError:
        return None


def _cut_texts(value: object) -> object:
    """Cuts the long texts at the top level, where files and prompts are."""
    if isinstance(value, Mapping):
        return {key: bounded(item) if isinstance(item, str) else item for key, item in value.items()}
    return bounded(value) if isinstance(value, str) else value


def _whole_number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < _MAX_NUMBER and value == value // 1 else None


def unique(values: Iterable[str]) -> list[str]:
    """The values in order, each once."""
    return list(dict.fromkeys(values))
