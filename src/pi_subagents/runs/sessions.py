"""Sessions as they are kept: found, read back, and made ready to be resumed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pi_subagents.errors import InvalidCall, SessionBusy, SessionNotFound, StoreError
from pi_subagents.files import distinct, is_below
from pi_subagents.fold import RunState
from pi_subagents.models import DEFAULT_TIMEOUT_S, Task
from pi_subagents.paths import project_of, runs_dir
from pi_subagents.place import Place
from pi_subagents.store import Index, Lease, load_run, session_runs, was_made_here

MAX_SESSIONS_IN_MEMORY = 32
MAX_RUNS_IN_MEMORY = 10


@dataclass(frozen=True)
class StoredRun:
    """One run of a session, as its record tells it."""

    state: RunState
    run_dir: Path


@dataclass(frozen=True)
class Session:
    """An id with its runs, oldest first; only the last ten are held in memory."""

    id: str
    runs: tuple[StoredRun, ...]
    earlier: tuple[Path, ...] = ()
    """The directories of the runs that are not held."""

    @property
    def latest(self) -> StoredRun:
        return self.runs[-1]

    @property
    def run_count(self) -> int:
        return len(self.earlier) + len(self.runs)

    @cached_property
    def message_count(self) -> int:
        """The messages of all runs; those that are not held are read for it."""
        states = (*map(load_run, self.earlier), *(run.state for run in self.runs))
        return sum(state.message_count for state in states)

    @property
    def is_running(self) -> bool:
        return any(not run.state.status.is_terminal for run in self.runs)


Remembered = Callable[[str], Sequence[RunState]]
"""The runs of a session that somebody else knows of, oldest first."""


def nothing_remembered(_session_id: str) -> Sequence[RunState]:
    """What is known where nobody keeps a log."""
    return ()


def gone_before(session: Session, remembered: Remembered) -> list[RunState]:
    """The runs of a session whose records are gone, as somebody remembers them."""
    there = {folder.name for folder in (*session.earlier, *(run.run_dir for run in session.runs))}
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
        folders = self.run_dirs(session_id)
        kept = self._kept.get(session_id)
        if kept is not None and [run.run_dir for run in kept.runs] == folders[-MAX_RUNS_IN_MEMORY:]:
            return kept
        runs = tuple(StoredRun(load_run(folder), folder) for folder in folders[-MAX_RUNS_IN_MEMORY:])
        session = Session(session_id, runs, tuple(folders[:-MAX_RUNS_IN_MEMORY]))
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


def resumed_task(
    latest: StoredRun,
    prompt: str,
    *,
    cwd: Path | None = None,
    profile: str | None = None,
    timeout_s: float | None = None,
    files: tuple[str, ...] = (),
) -> Task:
    """The task that goes on with a session: its own directory and profile or preset, unless told otherwise.

    Raises InvalidCall if there is no prompt, or if the directory is gone.
    """
    if not prompt.strip():
        raise InvalidCall("the prompt is empty; say what the agent should do now")
    _require_ours(latest)
    return Task(
        latest.state.name,
        prompt,
        cwd=str(cwd.absolute() if cwd else _directory(latest)),
        profile=profile or latest.state.profile,
        timeout=timeout_s or DEFAULT_TIMEOUT_S,
        resume=latest.state.session_id,
        files=files,
        preset=None if profile else latest.state.preset,
        model=None if profile else latest.state.requested_model,
        thinking_level=None if profile else latest.state.requested_thinking,
    )


def _require_ours(run: StoredRun) -> None:
    if run.state.foreign:
        session_id = run.state.session_id
        raise InvalidCall(f'Cannot resume: session "{session_id}" has a {run.state.foreign} ({run.run_dir}).')


def _directory(latest: StoredRun) -> Path:
    cwd = Path(latest.state.cwd)
    if not cwd.is_dir():
        raise InvalidCall(f"{cwd}, where the session worked, no longer exists; choose another directory with --cwd")
    project = project_of(latest.run_dir)
    if not is_below(cwd, project) and not was_made_here(latest.run_dir):
        # A record that came with the project does not say where else an agent works next.
        raise InvalidCall(f"{cwd}, where the session worked, is outside {project}; to use it, pass it with --cwd")
    return cwd


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
        _require_ours(run)


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
