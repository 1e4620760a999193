"""What the agent program says about itself: its version, and which modes it has.

It is asked once and remembered on disk, because asking costs a start of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

import msgspec

from pi_subagents.encoding import JsonError, as_utf8, decode_json
from pi_subagents.errors import AgentNotFound, StoreError
from pi_subagents.files import read_bounded
from pi_subagents.harness import Harness, Question, Version, harness_named
from pi_subagents.harness.pi.programs import (
    fingerprint,
    version_in,
)
from pi_subagents.place import Place
from pi_subagents.processes.query import ask
from pi_subagents.runners.containment import (
    NAMESPACE_PROGRAMS,
    Choice,
    namespace_conditions,
    namespace_works,
    take_namespace_for_granted,
    take_nothing_for_granted,
    wants_namespace,
)
from pi_subagents.settings import Settings
from pi_subagents.store.writing import write_whole

MAX_AGE_S = 86_400
"""A launcher that chooses among versions of the program may change its mind without a trace on disk."""
_MAX_ENTRIES = 16
_KEEPING = Lock()
"""Several programs are asked at the same time."""

VERSIONS_FILE = "pi-versions.json"
MODES_FILE = "pi-modes.json"
NAMESPACE_FILE = "namespace.json"
_MODES_AGE_S = 30 * 86_400
"""A launcher that stays the same may start another version. None has ever lost a mode, but one may have got it."""
TIMEOUT_S = 10.0

T = TypeVar("T")


class _Entry(msgspec.Struct, Generic[T], frozen=True):
    at: float
    answer: T


class Answers(Generic[T]):
    """Answers of one kind, by what they depend on; the latest few, and none that is too old."""

    def __init__(self, file: Path, kind: Any, max_age_s: float = MAX_AGE_S) -> None:
        self._file = file
        self._max_age_s = max_age_s
        self._kind: Any = dict[str, _Entry[kind]]

    def get(self, key: str) -> T | None:
        """The answer, if there is one that is young enough."""
        entry = self._entries().get(key)
        return entry.answer if entry is not None and 0 <= time.time() - entry.at < self._max_age_s else None

    def recall(self, key: Callable[[], str], asked: Callable[[], T | None]) -> T | None:
        """The same, or what is said if it is asked now."""
        known = self.get(key())
        if known is None and (known := asked()) is not None:
            self.keep(key(), known)  # by now: a program that is started for the first time writes its configuration
        return known

    def keep(self, key: str, answer: T) -> None:
        """Remember an answer; where that is not possible, the next call asks again."""
        with _KEEPING, suppress(StoreError, OSError):
            entries = {name: entry for name, entry in self._entries().items() if name != key}
            newest = sorted(entries, key=lambda name: entries[name].at)[1 - _MAX_ENTRIES :]
            kept = {**{name: entries[name] for name in newest}, key: _Entry(time.time(), answer)}
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, msgspec.json.encode(kept))

    def _entries(self) -> dict[str, _Entry[T]]:
        try:
            entries: dict[str, _Entry[T]] = decode_json(read_bounded(self._file), self._kind)
        except (OSError, JsonError):
            return {}
        return entries


def program_version(question: Question | None, place: Place) -> Version | None:
    """The version of a program; None where it does not say, or where nobody knows how to ask."""
    if question is None:
        return None

    def asked() -> Version | None:
        import tempfile  # the answer is known, as a rule

        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            answer = ask(question.argv, environ=question.environ_in(folder), timeout_s=TIMEOUT_S, cwd=place.cwd)
        return version_in(answer.text) if answer.ok else None

    known: Answers[Version] = Answers(place.agent_dir / "subagents" / VERSIONS_FILE, Version)
    program = fingerprint(question.argv, question.environ["PATH"])  # before it is asked: it may be replaced meanwhile
    return known.recall(lambda: program, asked)


def remember_namespace(choice: Choice, place: Place) -> None:
    """Let nobody try whether a PID namespace can be made where that is known: to try it starts three processes.

    That it cannot be is not remembered, so whoever changes that need not wait.
    """
    if not wants_namespace(choice):
        return
    known: Answers[bool] = Answers(place.agent_dir / "subagents" / NAMESPACE_FILE, bool)
    with suppress(OSError):  # a system without such files; then it is tried
        conditions = as_utf8(namespace_conditions()) + fingerprint(NAMESPACE_PROGRAMS, place.environ.get("PATH", ""))
        if known.get(conditions):
            take_namespace_for_granted()
        elif namespace_works():
            known.keep(conditions, True)


def doubt_namespace(agent_dir: Path) -> None:
    """Have the next call try it again: an agent has failed, and this may be why."""
    take_nothing_for_granted()
    with suppress(OSError):
        (agent_dir / "subagents" / NAMESPACE_FILE).unlink()


def usable_harness(harness: Harness, place: Place, settings: Settings) -> tuple[Harness, str | None]:
    """The harness, or the one to fall back to where the program lacks its mode; when that is found out, a sentence."""
    if harness.fallback is None:
        return harness, None
    try:
        program = harness.find_program(place, settings)
    except AgentNotFound:  # whoever starts it says so
        return harness, None
    if (question := harness.mode_question(program, place)) is None:
        return harness, None
    file = place.agent_dir / "subagents" / MODES_FILE
    known: Answers[bool] = Answers(file, bool, _MODES_AGE_S)
    lacking: Answers[bool] = Answers(file, bool)
    key = f"{harness.name} {fingerprint(question.argv, question.environ['PATH'])}"
    if known.get(key):
        return harness, None
    if lacking.get(key) is False:
        return harness_named(harness.fallback), None
    answer = ask(question.argv, environ=question.environ, timeout_s=TIMEOUT_S, cwd=place.cwd)
    if not answer.ok:  # what is wrong with it shows when it is started
        return harness, None
    known.keep(key, harness.has_mode(answer.text))
    if harness.has_mode(answer.text):
        return harness, None
    return harness_named(harness.fallback), (
        f"{program.argv[0]} does not support the harness {harness.name}, so {harness.fallback} is used: "
        "its agents cannot be steered, and each task gets a new process"
    )
