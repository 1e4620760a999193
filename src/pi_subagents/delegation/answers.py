"""What the agent program has answered about itself, remembered on disk, because asking costs a start of it."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.errors import StoreError
from pi_subagents.files import read_bounded
from pi_subagents.store.rundir import write_whole

MAX_AGE_S = 86_400
"""A launcher that chooses among versions of the program may change its mind without a trace on disk."""
_MAX_ENTRIES = 8

T = TypeVar("T")


class _Entry(msgspec.Struct, Generic[T], frozen=True):
    at: float
    answer: T


class Answers(Generic[T]):
    """Answers of one kind, by what they depend on; the latest few, and none that is older than a day."""

    def __init__(self, file: Path, kind: Any) -> None:
        self._file = file
        self._kind: Any = dict[str, _Entry[kind]]

    def get(self, key: str) -> T | None:
        """The answer, if there is one that is young enough."""
        entry = self._entries().get(key)
        return entry.answer if entry is not None and 0 <= time.time() - entry.at < MAX_AGE_S else None

    def keep(self, key: str, answer: T) -> None:
        """Remember an answer; where that is not possible, the next call asks again."""
        entries = {name: entry for name, entry in self._entries().items() if name != key}
        newest = sorted(entries, key=lambda name: entries[name].at)[1 - _MAX_ENTRIES :]
        kept = {**{name: entries[name] for name in newest}, key: _Entry(time.time(), answer)}
        with suppress(StoreError, OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, msgspec.json.encode(kept))

    def _entries(self) -> dict[str, _Entry[T]]:
        try:
            entries: dict[str, _Entry[T]] = decode_json(read_bounded(self._file), self._kind)
        except (OSError, JsonError):
            return {}
        return entries
