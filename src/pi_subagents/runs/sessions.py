"""Sessions as they are kept: found by an id or as much of its beginning as no other has, read back, resumed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path

import msgspec

from pi_subagents.clock import now_ms
from pi_subagents.errors import AmbiguousId, InvalidCall, SessionBusy, SessionNotFound, StoreError
from pi_subagents.files import distinct
from pi_subagents.fold import RunState
from pi_subagents.models import begun_at, short_ids
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.paths import project_of, runs_dir
from pi_subagents.place import Place
from pi_subagents.runs.remembered import Remembered
from pi_subagents.runs.run import PageKind, Run, pieces
from pi_subagents.store import (
    Index,
    Lease,
    by_session,
    in_order,
    list_runs,
    load_run,
    session_of,
    session_runs,
)
from pi_subagents.store.record import as_store_error
from pi_subagents.store.removal import remove_session
from pi_subagents.text import age, clean
from pi_subagents.text.patterns import pattern

MAX_SESSIONS_IN_MEMORY = 32
MAX_RUNS_IN_MEMORY = 10
_MAX_LISTED = 10
_RUN_ID = pattern(r"\d+(T\d*(-[0-9a-f]*)?)?")
"""Run ids begin with a date, and so can those of sessions, up to the T."""


class Session(msgspec.Struct, frozen=True, dict=True):
    """An id with its runs, oldest first: read when they are first asked for, and only the last ten held in memory."""

    id: str
    run_dirs: tuple[Path, ...]

    @classmethod
    def find(cls, text: str, cwd: Path | str | None = None) -> Session:
        """The session that `text` names, by its id or a run's, or by as much of either as no other begins with.

        Raises SessionNotFound, and InvalidCall where several sessions, or several projects other than that of `cwd`,
        are meant.
        """
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


# --- what people type ------------------------------------------------------------------------------------------


class Candidate(msgspec.Struct, frozen=True):
    """A run, or a session with its latest run, that somebody may mean; the name is that of its task, if known."""

    id: str
    name: str
    run_dir: Path


def find_session(place: Place, text: str) -> Session:
    """The session that `text` names, itself or by a run; raises SessionNotFound, AmbiguousId, InvalidCall."""
    found = _find(place, text)
    session_id = found if isinstance(found, str) else session_of(found)
    return Session(session_id, tuple(Sessions(place).run_dirs(session_id)))


def find_run_dir(place: Place, text: str) -> Path:
    """The directory of the run that `text` names, itself or by its session, of which the latest run is meant.

    Raises SessionNotFound, AmbiguousId, and InvalidCall for an id that several other projects have.
    """
    found = _find(place, text)
    return Sessions(place).run_dirs(found)[-1] if isinstance(found, str) else found


def _find(place: Place, text: str) -> str | Path:
    """A session's id, or the directory of a run where no session's id begins so."""
    text = text.strip().lower()
    with suppress(SessionNotFound):
        Sessions(place).run_dirs(text)
        return text
    if text.isalnum() and (sessions := sessions_beginning(place, text)):
        return _only(text, sessions, "session").id
    run_id = text.replace("t", "T", 1)
    runs = _runs_beginning(place, run_id) if _RUN_ID.fullmatch(run_id) else {}
    if not runs:
        raise SessionNotFound(f'Run "{run_id}" not found.') if "T" in run_id else session_not_found(text)
    folders = runs[_only(run_id, [Candidate(one, "", there[0]) for one, there in runs.items()], "run").id]
    if len(folders) > 1:
        raise several_places(f'Run "{folders[0].name}"', map(project_of, folders))
    return folders[0]


def sessions_beginning(place: Place, prefix: str = "", limit: int = 1000) -> list[Candidate]:
    """The sessions whose ids begin with `prefix`, newest first; those of the project at hand without the index too."""
    where = "session_id >= ? AND session_id < ?"
    found: dict[str, Candidate] = {}
    for row in Index(place.agent_dir).sessions(where, [prefix, f"{prefix}~"], limit=limit):
        if (folder := Path(row["run_dir"])).is_dir():
            found.setdefault(row["session_id"], Candidate(row["session_id"], row["name"], folder))
    for folder in reversed(list_runs(runs_dir(place.project))):
        if (session_id := session_of(folder)).startswith(prefix):
            found.setdefault(session_id, Candidate(session_id, "", folder))
    return list(found.values())


def background_runs_beginning(place: Place, prefix: str, limit: int) -> list[Candidate]:
    """The background runs whose sessions' ids begin with `prefix`, newest first; if none, those whose own do."""
    index = Index(place.agent_dir)
    for column in ("session_id", "run_id"):
        where = f"background = 1 AND {column} >= ? AND {column} < ?"
        if rows := index.rows(where, [prefix, f"{prefix}~"], limit=limit):
            return [Candidate(row[column], row["name"], Path(row["run_dir"])) for row in rows]
    return []


def _runs_beginning(place: Place, prefix: str, limit: int = 1000) -> dict[str, list[Path]]:
    """Where the runs are whose ids begin with `prefix`; what the project at hand has is not looked for in others."""
    here = {folder.name: [folder] for folder in list_runs(runs_dir(place.project)) if folder.name.startswith(prefix)}
    found: dict[str, list[Path]] = {}
    for row in Index(place.agent_dir).rows("run_id >= ? AND run_id < ?", [prefix, f"{prefix}~"], limit=limit):
        if (folder := Path(row["run_dir"])).is_dir():
            found.setdefault(row["run_id"], []).append(folder)
    return {run_id: distinct(folders) for run_id, folders in sorted({**found, **here}.items(), reverse=True)}


def _only(text: str, candidates: Sequence[Candidate], word: str) -> Candidate:
    if len(candidates) == 1:
        return candidates[0]
    short = short_ids(candidate.id for candidate in candidates)
    shown = candidates[:_MAX_LISTED]
    width = max(len(short[candidate.id]) for candidate in shown)
    lines = [f'"{text}" matches {len(candidates)} {word} ids; give a longer prefix:']
    for one in shown:
        begun = f"{age(now_ms() - begun_at(one.run_dir.name))} ago"
        lines.append(f"  {short[one.id]:<{width}}  {begun:>8}  {_name(one)}")
    if len(candidates) > _MAX_LISTED:
        lines.append(f"  … and {len(candidates) - _MAX_LISTED} more")
    raise AmbiguousId("\n".join(lines))


def _name(candidate: Candidate) -> str:
    name = candidate.name
    with suppress(StoreError):
        name = name or load_run(candidate.run_dir).name
    return clean(name)


def short_run_ids(run_dirs: Iterable[Path]) -> dict[Path, str]:
    """What to show for each of these runs: the short id of its session, or its own where a later run has that."""
    sessions = cache(lambda home: by_session(list_runs(home)))
    names = {}
    for folder in run_dirs:
        runs = sessions(folder.parent).get(session_of(folder), [folder])
        names[folder] = session_of(folder) if in_order(runs)[-1] == folder else folder.name
    short = short_ids(names.values())
    return {folder: short[name] for folder, name in names.items()}


def short_run_id(run_dir: Path) -> str:
    """The same for one run."""
    return short_run_ids([run_dir])[run_dir]


# --- going on with one -----------------------------------------------------------------------------------------


class Claim(msgspec.Struct, frozen=True):
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
    home = found.latest.run_dir.parent
    with as_store_error(f"cannot lock session {session_id} in {home}"):
        lease = Lease.of_session(home, session_id)
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
