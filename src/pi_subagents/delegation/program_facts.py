"""What the agent program says about itself, asked once and remembered on disk, because asking costs a start of it."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.errors import StoreError
from pi_subagents.files import read_bounded
from pi_subagents.harness import Question, Version
from pi_subagents.harness.pi.programs import fingerprint, version_in
from pi_subagents.place import Place
from pi_subagents.processes.query import ask
from pi_subagents.store.writing import write_whole

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


CACHE_FILE = "pi-versions.json"
_TIMEOUT_S = 10.0


class ProgramVersion:
    """The version of one program, found out when it is first looked at."""

    def __init__(self, question: Question | None, place: Place) -> None:
        self._question = question
        self._place = place
        self._known: Answers[Version] = Answers(place.agent_dir / "subagents" / CACHE_FILE, Version)

    @cached_property
    def value(self) -> Version | None:
        """The version, or None where the program does not say, or where nobody knows how to ask."""
        if self._question is None:
            return None
        key = fingerprint(self._question.argv, self._question.environ["PATH"])
        version = self._known.get(key)
        if version is None:
            version = self._ask(self._question)
            if version is not None:
                self._known.keep(key, version)
        return version

    def _ask(self, question: Question) -> Version | None:
        answer = ask(question.argv, environ=question.environ, timeout_s=_TIMEOUT_S, cwd=self._place.cwd)
        return version_in(answer.text) if answer.ok else None
