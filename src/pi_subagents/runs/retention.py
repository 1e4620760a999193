"""Which records are deleted: by a person's command, or once a day where a setting asks for it.

A session goes as a whole or not at all, and never while one of its runs is not final. Its age counts from the end of
its latest run; for a run that was lost, from its beginning, because nobody knows when it died.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

import msgspec

from pi_subagents.clock import now_ms
from pi_subagents.errors import SessionBusy, StoreError
from pi_subagents.models import Reason, begun_at
from pi_subagents.paths import project_of, runs_dir
from pi_subagents.runs.sessions import Session
from pi_subagents.settings import Settings
from pi_subagents.store import by_session, in_order, list_runs, open_runs
from pi_subagents.store.removal import disk_size, leftovers, remove_leftover, require_removable

_DAY_S = 86_400
_STAMP = ".retention"
_MAX_S = 5.0
"""How long the daily tidying may take; a program that ends waits for it. The rest is left for another day."""

_log = logging.getLogger(__name__)


class Rule(msgspec.Struct, frozen=True):
    """What may go: what ended before a moment, beyond the newest `keep` sessions; both conditions have to hold."""

    before: int | None = None
    keep: int = 0


class Dispensable(msgspec.Struct, frozen=True):
    """A session that a rule lets go."""

    session_id: str
    name: str
    project: Path
    run_dirs: tuple[Path, ...]
    ended_at: int
    size: int


def find_dispensable(project: Path, rule: Rule) -> Iterator[Dispensable]:
    """The sessions of a project that the rule lets go, oldest first; lost runs are closed on the way."""
    sessions = by_session(list_runs(runs_dir(project)))
    for session_id, folders in reversed(list(sessions.items())[rule.keep :]):
        found = _judge(session_id, in_order(folders), rule)
        if found is not None:
            yield found


def _judge(session_id: str, folders: list[Path], rule: Rule) -> Dispensable | None:
    if rule.before is not None and begun_at(folders[-1].name) >= rule.before:
        return None  # told by its name: with many sessions, most are not even opened
    try:
        found = dispensable(folders)
    except (SessionBusy, StoreError) as error:
        _log.info("%s is kept: %s", session_id, error)
        return None
    return None if rule.before is not None and found.ended_at >= rule.before else found


def dispensable(folders: Sequence[Path]) -> Dispensable:
    """The session with these runs, oldest first, if it can be deleted; raises SessionBusy and StoreError."""
    latest = [require_removable(folder) for folder in folders][-1]
    known_end = None if latest.reason is Reason.LOST else latest.completed_at
    ended_at = known_end or latest.created_at or begun_at(folders[-1].name)
    size = sum(map(disk_size, folders))
    return Dispensable(latest.session_id, latest.name, project_of(folders[0]), tuple(folders), ended_at, size)


def remove(session: Dispensable, agent_dir: Path) -> Dispensable:
    """Delete a session; what went with it. Raises SessionBusy and StoreError."""
    removed = Session(session.session_id, session.run_dirs).remove(agent_dir)
    return msgspec.structs.replace(session, run_dirs=tuple(removed))


class Leftover(msgspec.Struct, frozen=True):
    """Something that a killed program has left in a project's records and nobody will ever need."""

    path: Path
    size: int

    def remove(self) -> None:
        """Delete it; raises StoreError."""
        remove_leftover(self.path)


def find_leftovers(project: Path) -> list[Leftover]:
    """What killed programs have left in a project."""
    return [Leftover(path, disk_size(path)) for path in leftovers(runs_dir(project), time.time() - _DAY_S)]


# --- once a day ----------------------------------------------------------------------------------------------


def apply_retention_aside(project: Path, agent_dir: Path, settings: Settings) -> None:
    """The same in a thread: nobody waits for it but the end of the program, and that not for ever."""
    if _rule(settings) is None:
        return
    work = threading.Thread(target=apply_retention, args=(project, agent_dir, settings), daemon=True)
    work.start()
    _aside.add(work)


_aside: WeakSet[threading.Thread] = WeakSet()


@atexit.register
def _wait_a_little() -> None:
    for work in list(_aside):
        work.join(2 * _MAX_S)


def apply_retention(project: Path, agent_dir: Path, settings: Settings) -> None:
    """Delete what the settings let go, at most once a day for a project; problems are logged, never raised."""
    rule = _rule(settings)
    if rule is None or not _is_due(runs_dir(project)):
        return
    deadline = time.monotonic() + _MAX_S
    try:
        for session in find_dispensable(project, rule):
            with suppress(SessionBusy):
                remove(session, agent_dir)
            if time.monotonic() > deadline:
                return
        for leftover in find_leftovers(project):
            leftover.remove()
    except (OSError, StoreError) as error:
        _log.warning("old runs could not be deleted: %s", error)


def _rule(settings: Settings) -> Rule | None:
    days, keep = settings.keep_runs_days, settings.keep_sessions
    if days is None and keep is None:
        return None
    return Rule(None if days is None else now_ms() - days * _DAY_S * 1000, keep or 0)


def _is_due(folder: Path) -> bool:
    """Whether a day has passed, and if so, note that the next one begins now."""
    try:
        with open_runs(folder) as runs:
            if runs.has(_STAMP) and 0 <= time.time() - runs.status(_STAMP).st_mtime < _DAY_S:
                return False
            runs.replace(_STAMP, b"")
    except OSError:
        return False
    return True
