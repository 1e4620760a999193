"""The life of a run: its states, why it ended, and the one function that moves it on."""

from __future__ import annotations

import os
import re
import time
from enum import StrEnum


class Status(StrEnum):
    """Where a run is; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"

    @property
    def is_terminal(self) -> bool:
        return self in (Status.COMPLETED, Status.FAILED, Status.ABORTED)


class Reason(StrEnum):
    """Why a run ended, for programs; the sentence for people stands beside it."""

    SETTLED = "settled"
    AGENT_ERROR = "agent_error"
    EXIT = "exit"
    TIMEOUT = "timeout"
    LOOP = "loop"
    CANCELLED = "cancelled"
    SPAWN = "spawn"
    INVALID = "invalid"
    RECORD = "record"
    LOST = "lost"


_MOVES: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.FAILED, Status.ABORTED}),
    Status.RUNNING: frozenset({Status.COMPLETED, Status.FAILED, Status.ABORTED}),
}


def transition(current: Status, new: Status) -> Status:
    """Return `new` if a run may move there from `current`; raises ValueError for an illegal move."""
    if new not in _MOVES.get(current, frozenset()):
        raise ValueError(f"a run cannot go from {current} to {new}")
    return new


def status_for(reason: Reason) -> Status:
    """The final state that belongs to a reason."""
    if reason is Reason.SETTLED:
        return Status.COMPLETED
    return Status.ABORTED if reason is Reason.CANCELLED else Status.FAILED


def new_session_id() -> str:
    """Sixteen hex digits."""
    return os.urandom(8).hex()


_RUN_ID = re.compile(r"\d{8}T\d{9}-[0-9a-f]{16}")


_last_ms = 0


def new_run_id(session_id: str) -> str:
    """Sorts by time of creation and names its session, so that a directory listing finds a session's runs."""
    global _last_ms
    # Those made in the same millisecond keep their order too; two threads at once may share one, and do not mind.
    now = _last_ms = max(time.time_ns() // 1_000_000, _last_ms + 1)
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now // 1000))
    return f"{stamp}{now % 1000:03d}-{session_id}"


def is_run_id(text: str) -> bool:
    """Whether the text has the form of a run's id, so that it can be used as the name of a directory."""
    return _RUN_ID.fullmatch(text) is not None
