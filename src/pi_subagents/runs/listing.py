"""Which sessions there are: one summary per session, newest first, from the index or, where it fails, from the disk.

The index says nothing of runs that are not final; those are read from their journals, which also closes the lost ones,
and the index is told what became of them. However many sessions there are, only those that are shown are looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from pi_subagents.errors import StoreError
from pi_subagents.files import distinct
from pi_subagents.fold import RunState
from pi_subagents.models import Reason, Status
from pi_subagents.paths import project_of, runs_dir
from pi_subagents.place import Place
from pi_subagents.store import (
    FOREIGN,
    Index,
    by_session,
    in_order,
    is_ours,
    list_runs,
    load_run,
    session_of,
    session_runs,
)

_List = Callable[[Path], list[Path]]

_PAGE = 100
"""Rows asked for at a time when some of them may turn out not to be wanted."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session in one line: its latest run, and how many it has."""

    session_id: str
    name: str
    status: Status
    reason: Reason | None
    error: str | None
    profile: str | None
    preset: str | None
    provider: str | None
    model: str | None
    project: Path
    run_dir: Path
    run_count: int
    created_at: int | None
    started_at: int | None
    completed_at: int | None
    tokens: int
    cost: float
    tool_count: int
    is_damaged: bool

    @property
    def agent(self) -> str | None:
        """The name of the agent's profile or preset."""
        return self.preset or self.profile

    def to_json(self) -> dict[str, Any]:
        """The summary for programs."""
        return {
            "sessionId": self.session_id,
            "name": self.name,
            "status": self.status,
            "reason": self.reason,
            "damaged": self.is_damaged,
            "error": self.error,
            "profile": self.profile,
            "preset": self.preset,
            "provider": self.provider,
            "model": self.model,
            "runCount": self.run_count,
            "project": str(self.project),
            "runDir": str(self.run_dir),
            "createdAt": self.created_at,
            "startedAt": self.started_at,
            "completedAt": self.completed_at,
            "toolCount": self.tool_count,
            "tokens": self.tokens,
            "cost": self.cost,
        }


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions: conditions on their latest runs. `status` RUNNING means not final; no `project`, all of them.

    `agent` is the name of a profile or a preset.
    """

    project: Path | None = None
    status: Status | None = None
    agent: str | None = None
    since: int | None = None
    limit: int = 30

    def accepts(self, session: SessionSummary) -> bool:
        """Whether the session meets the conditions, as far as they do not concern its project."""
        if self.status is Status.RUNNING and session.status.is_terminal:
            return False
        if self.status not in (None, Status.RUNNING, session.status):
            return False
        if self.agent is not None and session.agent != self.agent:
            return False
        return self.since is None or (session.created_at or 0) >= self.since


def list_sessions(place: Place, wanted: Wanted) -> list[SessionSummary]:
    """The newest sessions that are wanted, at most `wanted.limit` of them."""
    index = Index(place.agent_dir)
    here = wanted.project or place.project
    list_once = cache(list_runs)  # there may be thousands
    known = index.is_usable() and _is_complete(index, here, list_once(runs_dir(here)), wanted.limit)
    # Asked for afterwards: the project at hand may have been new to the index.
    projects = list(dict.fromkeys([here, *([] if wanted.project else index.projects())]))
    found = _from_index(index, list_once, projects, wanted) if known else _from_disk(list_once, projects, wanted)
    return list(islice(found, wanted.limit))


def _is_complete(index: Index, project: Path, on_disk: Sequence[Path], count: int) -> bool:
    """Whether the index knows a project's newest runs, after it has been told those that it had missed.

    Of a project that is new to it (a copy from another machine) it is told all.
    """
    if index.rows("project = ?", [str(project)], limit=1):
        on_disk = on_disk[-count:]
    folders = {folder.name: folder for folder in on_disk}
    known = _known(index, project, folders)
    runs = []
    for name in folders.keys() - known:
        with suppress(StoreError):
            runs.append((load_run(folders[name]), folders[name]))
    if runs:
        index.record(project, runs)
    return {folder.name for _, folder in runs} <= _known(index, project, folders)


def _known(index: Index, project: Path, folders: Collection[str]) -> set[str]:
    if not folders:
        return set()
    return {row["run_id"] for row in index.rows("project = ? AND run_id >= ?", [str(project), min(folders)])}


# --- what they have used -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Used:
    """What the agents of a session have used in all of its runs."""

    tokens: int
    cost: float
    tool_count: int

    def __add__(self, other: Used) -> Used:
        return Used(self.tokens + other.tokens, self.cost + other.cost, self.tool_count + other.tool_count)

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {"tokens": self.tokens, "cost": self.cost, "toolCount": self.tool_count}


NOTHING_USED = Used(0, 0.0, 0)


def used_by(place: Place, sessions: Sequence[SessionSummary]) -> list[Used]:
    """What all runs of each session have used together; a run whose record cannot be read counts for nothing."""
    resumed = [session.session_id for session in sessions if session.run_count > 1]
    where = f"status IS NOT NULL AND session_id IN ({', '.join('?' * len(resumed))})"
    rows = Index(place.agent_dir).rows(where, resumed) if resumed else []
    known = {Path(row["run_dir"]): _used_in_row(row) for row in rows}
    return [sum(_used_in_each_run(session, known), NOTHING_USED) for session in sessions]


def _used_in_each_run(session: SessionSummary, known: Mapping[Path, Used]) -> Iterator[Used]:
    yield Used(session.tokens, session.cost, session.tool_count)
    earlier = session_runs(session.run_dir.parent, session.session_id) if session.run_count > 1 else []
    for folder in earlier:
        if folder != session.run_dir:
            yield known.get(folder) or _used_on_disk(folder)


def _used_in_row(row: Mapping[str, Any]) -> Used:
    return Used(row["tokens"] or 0, row["cost"] or 0.0, row["tool_count"] or 0)


def _used_on_disk(run_dir: Path) -> Used:
    try:
        state = load_run(run_dir)
    except StoreError:
        return NOTHING_USED
    return Used(state.usage.total_tokens, state.usage.cost, state.tool_count)


# --- the index ---------------------------------------------------------------------------------------------


def _from_index(index: Index, list_once: _List, projects: list[Path], wanted: Wanted) -> Iterator[SessionSummary]:
    where, parameters = _conditions(projects, wanted)
    on_disk = cache(lambda home: by_session(list_once(home)))
    shown = set()
    last = ["~", ""]  # sorts after every run id
    while rows := index.sessions(f"{where} AND (run_id, project) < (?, ?)", [*parameters, *last], limit=_PAGE):
        for row in rows:
            folder = Path(row["run_dir"])
            place = os.path.realpath(folder.parent), session_of(folder)
            if place in shown:
                continue  # by another path to the same project, or launched from another one
            shown.add(place)
            session = _true_row(index, row, on_disk(folder.parent).get(session_of(folder), []))
            if session is not None and wanted.accepts(session):
                yield session
        last = [rows[-1]["run_id"], rows[-1]["project"]]


def _conditions(projects: list[Path], wanted: Wanted) -> tuple[str, list[Any]]:
    where = f"project IN ({', '.join('?' * len(projects))})"
    parameters: list[Any] = [str(project) for project in projects]
    if wanted.status is Status.RUNNING:
        where += " AND status IS NULL"
    elif wanted.status is not None:
        where += " AND (status IS NULL OR status = ?)"
        parameters.append(wanted.status.value)
    if wanted.agent is not None:
        where += " AND (status IS NULL OR coalesce(preset, profile) = ?)"
        parameters.append(wanted.agent)
    if wanted.since is not None:
        where += " AND created_at >= ?"
        parameters.append(wanted.since)
    return where, parameters


def _true_row(index: Index, row: Mapping[str, Any], runs: Collection[Path]) -> SessionSummary | None:
    """The session behind a row as it is now, with the runs that were found of it; None if its record is gone."""
    folder = Path(row["run_dir"])
    if os.path.lexists(folder):
        runs = {folder, *runs}  # it may have come since
    else:
        index.forget([folder])
    if not runs:
        return None
    latest = in_order(runs)[-1]
    if latest == folder and row["status"] is not None and is_ours(folder) and FOREIGN not in row["name"]:
        return _summary_of_row(row, len(runs))
    try:
        state = load_run(latest)
    except StoreError:
        return None
    if state.status.is_terminal and not state.foreign:
        index.record(Path(row["project"]), [(state, latest)])
    return _summary_of_state(state, latest, len(runs))


def _summary_of_row(row: Mapping[str, Any], run_count: int) -> SessionSummary:
    return SessionSummary(
        session_id=row["session_id"],
        name=row["name"],
        status=Status(row["status"]),
        reason=Reason(row["reason"]) if row["reason"] else None,
        error=row["error"],
        profile=row["profile"],
        preset=row["preset"],
        provider=row["provider"],
        model=row["model"],
        project=project_of(Path(row["run_dir"])),
        run_dir=Path(row["run_dir"]),
        run_count=run_count,
        created_at=row["created_at"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
        tokens=row["tokens"] or 0,
        cost=row["cost"] or 0.0,
        tool_count=row["tool_count"] or 0,
        is_damaged=bool(row["damaged"]),
    )


# --- the disk ----------------------------------------------------------------------------------------------


def _from_disk(list_once: _List, projects: list[Path], wanted: Wanted) -> Iterator[SessionSummary]:
    homes = distinct(map(runs_dir, projects))
    sessions = [runs for home in homes for runs in by_session(list_once(home)).values()]
    for runs in sorted(sessions, key=lambda runs: runs[0].name, reverse=True):
        latest = in_order(runs)[-1]
        with suppress(StoreError):
            session = _summary_of_state(load_run(latest), latest, len(runs))
            if wanted.accepts(session):
                yield session


def _summary_of_state(state: RunState, run_dir: Path, run_count: int) -> SessionSummary:
    return SessionSummary(
        session_id=state.session_id,
        name=state.name,
        status=state.status,
        reason=state.reason,
        error=state.error,
        profile=state.profile,
        preset=state.preset,
        provider=state.provider,
        model=state.model,
        project=project_of(run_dir),
        run_dir=run_dir,
        run_count=run_count,
        created_at=state.created_at,
        started_at=state.started_at,
        completed_at=state.completed_at,
        tokens=state.usage.total_tokens,
        cost=state.usage.cost,
        tool_count=state.tool_count,
        is_damaged=state.is_damaged,
    )
