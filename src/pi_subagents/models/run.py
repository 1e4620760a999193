"""The life of a run: its states, why it ended, and the one function that moves it on.

States and reasons are append-only vocabulary, and another version may know more of them: a word that is unknown here
is kept as it is, as a member without a name of its own. Only an end can bring one, so an unknown state is final.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Self

import msgspec

from pi_subagents.text.patterns import pattern

_MAX_WORD_CHARACTERS = 40
_UNUSUAL = pattern(r"[^A-Za-z0-9_.: -]")


class _Word(StrEnum):
    """A word of the record. Any other text becomes a member too, shortened and without what a surface would obey."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        word = _UNUSUAL.sub("?", value[:_MAX_WORD_CHARACTERS]) or "unknown"
        member = str.__new__(cls, word)
        member._name_ = member._value_ = word
        return member


class Status(_Word):
    """Where a run is; the last three are final, and so is every other word."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"

    @property
    def is_terminal(self) -> bool:
        return self not in (Status.QUEUED, Status.RUNNING)


class Reason(_Word):
    """Why a run ended, for programs; the sentence for people stands beside it."""

    SETTLED = "settled"
    NO_ANSWER = "no_answer"
    AGENT_ERROR = "agent_error"
    EXIT = "exit"
    TIMEOUT = "timeout"
    LOOP = "loop"
    LIMIT = "limit"
    CANCELLED = "cancelled"
    SPAWN = "spawn"
    INVALID = "invalid"
    RECORD = "record"
    LOST = "lost"


_MOVES: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.FAILED, Status.ABORTED}),
    Status.RUNNING: frozenset({Status.COMPLETED, Status.FAILED, Status.ABORTED}),
}


_KNOWN = frozenset(Status)


def is_move(current: Status, new: Status) -> bool:
    """Whether a run may move from one state to another; a state of another version ends a run like any end."""
    return not current.is_terminal and (new in _MOVES[current] or new not in _KNOWN)


def transition(current: Status, new: Status) -> Status:
    """Return `new` if a run may move there from `current`; raises ValueError for an illegal move."""
    if not is_move(current, new):
        raise ValueError(f"a run cannot go from {current} to {new}")
    return new


def status_for(reason: Reason) -> Status:
    """The final state that belongs to a reason."""
    if reason in (Reason.SETTLED, Reason.NO_ANSWER):
        return Status.COMPLETED
    return Status.ABORTED if reason is Reason.CANCELLED else Status.FAILED


def new_session_id() -> str:
    """Sixteen hex digits."""
    return os.urandom(8).hex()


_RUN_ID = pattern(r"[0-9]{8}T[0-9]{9}-[0-9a-f]{16}")


_last_ms = 0


def new_run_id(session_id: str, after: str | None = None) -> str:
    """Sorts by time of creation and names its session, so that a directory listing finds a session's runs.

    A session's runs sort in the order they were made even if the clock is set back: `after` is the latest of them.
    """
    global _last_ms
    # Those made in the same millisecond keep their order too; two threads at once may share one, and do not mind.
    now = _last_ms = max(time.time_ns() // 1_000_000, _last_ms + 1)
    stamp = _stamp(_EPOCH + timedelta(milliseconds=now))
    return f"{max(stamp, _next_stamp(after)) if after else stamp}-{session_id}"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _stamp(moment: datetime) -> str:
    return f"{moment.year:04d}{moment:%m%dT%H%M%S}{moment.microsecond // 1000:03d}"


def _next_stamp(run_id: str) -> str:
    """The stamp that follows a run id's, or nothing where there is none."""
    try:
        moment = datetime.strptime(f"{run_id[:18]}000+0000", "%Y%m%dT%H%M%S%f%z")
        return _stamp(moment + timedelta(milliseconds=1))
    except (ValueError, OverflowError):
        return ""


def is_run_id(text: str) -> bool:
    """Whether the text has the form of a run's id, so that it can be used as the name of a directory."""
    return _RUN_ID.fullmatch(text) is not None


def begun_at(run_id: str) -> int:
    """When a run was made, in milliseconds since the epoch, as its id tells to the second; 0 where it does not."""
    try:
        second = datetime.strptime(f"{run_id[:15]}+0000", "%Y%m%dT%H%M%S%z")
    except ValueError:
        return 0
    return int(second.timestamp()) * 1000


_SHORT_SESSION = 8
_SHORT_RUN = len("20261104T091512114")


def short_id(session_id: str) -> str:
    """What people see of a session's id, and type: enough to tell it from millions of others."""
    return session_id[:_SHORT_SESSION]


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """The same for ids of sessions and runs in a list, longer where two of them begin alike; of a run its moment."""
    known = sorted(set(ids))
    short = {}
    for before, one, after in zip(["", *known], known, [*known[1:], ""], strict=False):
        length = _SHORT_RUN if is_run_id(one) else _SHORT_SESSION
        while length < len(one) and any(other.startswith(one[:length]) for other in (before, after)):
            length += 1
        short[one] = one[:length]
    return short


MAX_FIGURE = 2**53
"""No true figure is larger; every JSON reader can hold it, and SQLite a thousand times as much."""


def bounded(figure: float | None) -> float:
    """A figure that somebody else worked out, within reason: what is negative or no number counts as nothing."""
    if figure is None or figure != figure:
        return 0
    return min(max(figure, 0), MAX_FIGURE)


class Usage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Tokens and money of one or several model answers; adding two gives their sum, which is always within bounds."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0
    cost: float = 0.0

    @classmethod
    def of(cls, *figures: float | None) -> Usage:
        """The figures in the order of the fields, each of them bounded: an agent or an old record may say anything."""
        *tokens, cost = map(bounded, figures)
        return msgspec.structs.replace(cls(*map(int, tokens)), cost=float(cost))

    def to_json(self) -> dict[str, float]:
        """Every figure under the name that `pi` has for it, zeros too."""
        return {said: getattr(self, name) for name, said in _NAMES.items()}

    def __add__(self, other: Usage) -> Usage:
        return Usage.of(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.total_tokens + other.total_tokens,
            self.cost + other.cost,
        )


_NAMES = {field.name: field.encode_name for field in msgspec.structs.fields(Usage)}
