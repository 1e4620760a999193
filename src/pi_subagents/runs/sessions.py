"""Sessions as they are kept: found, read back, and made ready to be resumed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pi_subagents.errors import InvalidCall, SessionBusy, SessionNotFound, StoreError
from pi_subagents.files import distinct
from pi_subagents.fold import RunState
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.paths import project_of, runs_dir
from pi_subagents.place import Place
from pi_subagents.runs.run import PageKind, Run, pieces
from pi_subagents.store import Index, Lease, load_run, remove_session, session_runs

MAX_SESSIONS_IN_MEMORY = 32
MAX_RUNS_IN_MEMORY = 10


@dataclass(frozen=True)
class Session:
    """An id with its runs, oldest first: read when they are first asked for, and only the last ten held in memory."""

    id: str
    run_dirs: tuple[Path, ...]

    @classmethod
    def find(cls, text: str, cwd: Path | str | None = None) -> Session:
        """The session that `text` names, by its id or a run's, or by as much of either as no other begins with.

        Raises SessionNotFound, and InvalidCall where several sessions, or several projects other than that of `cwd`,
        are meant.
        """
        from pi_subagents.runs.lookup import find_session  # which is made of what is in here

        return find_session(Place.here(None if cwd is None else Path(cwd)), text)

    @classmethod
    def of(cls, run: Run) -> Session:
        """The session of a run; without any runs if it has just been removed."""
        return cls(run.session_id, tuple(session_runs(run.run_dir.parent, run.session_id)))

    @property
    def project(self) -> Path:
        return project_of(self.run_dirs[-1])

    @cached_property
    def latest(self) -> Run:
        return Run.load(self.run_dirs[-1])

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The last ten."""
        return (*map(Run.load, self.run_dirs[-MAX_RUNS_IN_MEMORY:-1]), self.latest)

    @property
    def run_count(self) -> int:
        return len(self.run_dirs)

    @cached_property
    def message_count(self) -> int:
        """The messages of all runs; those that are not held are read for it."""
        earlier = map(load_run, self.run_dirs[:-MAX_RUNS_IN_MEMORY])
        return sum(state.message_count for state in (*earlier, *(run.state for run in self.runs)))

    @property
    def is_running(self) -> bool:
        return any(not run.is_over for run in self.runs)

    def stop(self, message: str = CANCELLED_SENTENCE) -> list[Run]:
        """Ask for every run that is not over to be stopped; those runs, of which each can be waited for."""
        running = [run for folder in self.run_dirs if not (run := Run.load(folder)).is_over]
        for run in running:
            run.stop(message)
        return running

    def export(self, kind: PageKind = "md") -> Iterator[str]:
        """All runs in full as Markdown, or as one HTML page, in pieces; raises StoreError."""
        return pieces(self.run_dirs, kind)

    def remove(self, agent_dir: Path | None = None) -> list[Path]:
        """Delete it with all of its runs; the directories that they had. Raises SessionBusy and StoreError."""
        removed = remove_session(self.run_dirs[-1].parent, self.id)
        Index(agent_dir or Place.here().agent_dir).forget(removed)
        return removed


Remembered = Callable[[str], Sequence[RunState]]
"""The runs of a session that somebody else knows of, oldest first."""


def nothing_remembered(_session_id: str) -> Sequence[RunState]:
    """What is known where nobody keeps a log."""
    return ()


def gone_before(session: Session, remembered: Remembered) -> list[RunState]:
    """The runs of a session whose records are gone, as somebody remembers them."""
    there = {folder.name for folder in session.run_dirs}
    begun_at = session.runs[0].state.created_at or 0
    return [run for run in remembered(session.id) if run.run_id not in there and (run.created_at or 0) < begun_at]


def session_not_found(session_id: str) -> SessionNotFound:
    """What to raise for an id that leads nowhere."""
    return SessionNotFound(f'Session "{session_id}" not found. The session may have expired or the ID is incorrect.')


def session_busy(session_id: str) -> SessionBusy:
    """What to raise where somebody else goes on with a session."""
    return SessionBusy(
        f'Cannot resume: session "{session_id}" is still running. Wait for it to complete before resuming.'
    )


def several_places(what: str, homes: Iterable[Path]) -> InvalidCall:
    """What to raise for an id that projects other than the one at hand have in common."""
    named = ", ".join(str(project) for project in homes)
    return InvalidCall(f"{what} is in several projects: {named}. Change to the one you mean.")


class Sessions:
    """Reads sessions from disk; keeps those that are over in memory, the oldest going first."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._index = Index(place.agent_dir)
        self._kept: OrderedDict[str, Session] = OrderedDict()

    def find(self, session_id: str) -> Session:
        """The session with that id, wherever it was run; raises SessionNotFound and InvalidCall as `run_dirs` does."""
        folders = tuple(self.run_dirs(session_id))
        kept = self._kept.get(session_id)
        if kept is not None and kept.run_dirs[-MAX_RUNS_IN_MEMORY:] == folders[-MAX_RUNS_IN_MEMORY:]:
            return kept
        session = Session(session_id, folders)
        if not session.is_running:
            self._keep(session)
        return session

    def has(self, session_id: str) -> bool:
        """Whether there is a record of it anywhere."""
        with suppress(SessionNotFound):
            return bool(self.run_dirs(session_id))
        return False

    def run_dirs(self, session_id: str) -> list[Path]:
        """The directories of all runs of a session, oldest first.

        Raises SessionNotFound, and InvalidCall where several projects have it and the one at hand has not.
        """
        if not session_id or not session_id.isalnum():
            raise session_not_found(session_id)
        if here := session_runs(runs_dir(self._place.project), session_id):
            return here
        found = [runs for home in distinct(self._homes(session_id)) if (runs := session_runs(home, session_id))]
        if len(found) > 1:
            raise several_places(f'Session "{session_id}"', (project_of(runs[0]) for runs in found))
        if not found:
            raise session_not_found(session_id)
        return found[0]

    def _homes(self, session_id: str) -> list[Path]:
        """Where other projects keep the session, or may keep it if the index does not know."""
        # All runs of a session are kept together, so one known directory leads to the others.
        known = [folder.parent for folder in self._index.session(session_id) if folder.is_dir()]
        return known or [runs_dir(project) for project in self._index.projects()]

    def _keep(self, session: Session) -> None:
        self._kept[session.id] = session
        while len(self._kept) > MAX_SESSIONS_IN_MEMORY:
            oldest = min(self._kept.values(), key=lambda kept: kept.runs[0].state.created_at or 0)
            del self._kept[oldest.id]


@dataclass(frozen=True)
class Claim:
    """A session that is about to be resumed; nobody else can resume it until the claim is released."""

    session: Session
    lease: Lease


def claim_for_resume(sessions: Sessions, session_id: str) -> Claim:
    """Make sure that a session can be resumed, and by us alone; raises SessionNotFound or SessionBusy."""
    try:
        found = sessions.find(session_id)
    except SessionNotFound:
        raise SessionNotFound(
            f'Cannot resume: session "{session_id}" not found. The session may have expired or the ID is incorrect.'
        ) from None
    _check_ours(found)
    lease = _lock(found.latest.run_dir.parent, session_id)
    if lease is None:
        raise session_busy(session_id)
    try:
        session = sessions.find(session_id)
        _check_ours(session)
        if session.is_running:
            raise session_busy(session_id)
    except BaseException:
        lease.release()
        raise
    return Claim(session, lease)


def _check_ours(session: Session) -> None:
    for run in session.runs:
        run.require_ours()


def _lock(home: Path, session_id: str) -> Lease | None:
    try:
        return Lease.of_session(home, session_id)
    except OSError as error:
        raise StoreError(f"cannot lock session {session_id} in {home}: {error.strerror}") from error


def claim_all(sessions: Sessions, session_ids: Iterable[str]) -> list[Claim]:
    """Claim several sessions or none; raises SessionNotFound or SessionBusy."""
    claims: list[Claim] = []
    try:
        for session_id in session_ids:
            claims.append(claim_for_resume(sessions, session_id))
    except BaseException:
        for claim in claims:
            claim.lease.release()
        raise
    return claims
