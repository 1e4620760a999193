"""Which sessions there are: one summary per session, newest first, from the index or, where it fails, from the disk.

The index says nothing of runs that are not final; those are read from their journals, which also closes the lost ones,
and the index is told what became of them. However many sessions there are, only those that are shown are looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.errors import StoreError
from pi_subagents.files import distinct
from pi_subagents.fold import RunState
from pi_subagents.harness import DEFAULT_AGENT, DEFAULT_HARNESS, PI_HARNESSES
from pi_subagents.models import Reason, Status, Usage
from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.runs.run import Run, facts_of
from pi_subagents.runs.sessions import Session
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


class SessionSummary(msgspec.Struct, frozen=True):
    """A session in one line: its latest run as the index tells it, without what was said, and how many it has."""

    latest: Run
    run_count: int

    @property
    def state(self) -> RunState:
        return self.latest.state

    @property
    def run_dir(self) -> Path:
        return self.latest.run_dir


class Wanted(msgspec.Struct, frozen=True):
    """Which sessions: conditions on their latest runs. `status` RUNNING means not final; no `project`, all of them.

    `agent` is the name of a profile, a preset or an agent program.
    """

    project: Path | None = None
    status: Status | None = None
    agent: str | None = None
    since: int | None = None
    limit: int = 30

    def accepts(self, session: SessionSummary) -> bool:
        """Whether the session meets the conditions, as far as they do not concern its project."""
        state = session.state
        if self.status is Status.RUNNING and state.status.is_terminal:
            return False
        if self.status not in (None, Status.RUNNING, state.status):
            return False
        if self.agent is not None and self.agent not in (state.asked_as, state.agent):
            return False
        return self.since is None or (state.created_at or 0) >= self.since


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


def sessions(
    cwd: Path | str | None = None, *, everywhere: bool = False, status: Status | None = None, limit: int = 30
) -> list[Session]:
    """The newest sessions of the project of `cwd`, or of all projects, newest first; RUNNING: not over."""
    place = Place.here(None if cwd is None else Path(cwd))
    found = list_sessions(place, Wanted(None if everywhere else place.project, status, limit=limit))
    return [session for one in found if (session := Session.of(one.latest)).run_dirs]


def _is_complete(index: Index, project: Path, on_disk: Sequence[Path], count: int) -> bool:
    """Whether the index knows a project's newest runs, after it has been told those that it had missed.

    Of a project that is new to it (a copy from another machine) it is told all.
    """
    if index.rows("project = ?", [str(project)], limit=1):
        on_disk = on_disk[-count:]
    folders = {folder.name: folder for folder in on_disk}
    known = _known(index, project, folders)
    missed = {}
    for name in folders.keys() - known:
        with suppress(StoreError):
            missed[folders[name]] = load_run(folders[name])
    if missed:
        index.record(project, missed)
    return {folder.name for folder in missed} <= _known(index, project, folders)


def _known(index: Index, project: Path, folders: Collection[str]) -> set[str]:
    if not folders:
        return set()
    return {row["run_id"] for row in index.rows("project = ? AND run_id >= ?", [str(project), min(folders)])}


def known_projects(place: Place) -> list[Path]:
    """Every project of which a run was ever recorded, and the one at hand."""
    return sorted({place.project, *Index(place.agent_dir).projects()})


def rebuild_index(place: Place, report: Callable[[Path, int], None]) -> int:
    """Make the index anew from the run directories of every project; how many runs it has. Raises StoreError.

    `report` is told each project and its number of runs.
    """
    index = Index(place.agent_dir)
    if runs_dir(place.project).is_dir():
        index.record(place.project, {})  # it may have come from another machine, with its runs
    return index.rebuild(report)


# --- what they have used -----------------------------------------------------------------------------------


class Used(msgspec.Struct, frozen=True):
    """What the agents of a session have used in all of its runs."""

    tokens: int
    cost: float
    tool_count: int
    knows_tokens: bool = True
    knows_cost: bool = True

    def __add__(self, other: Used) -> Used:
        return Used(
            self.tokens + other.tokens,
            self.cost + other.cost,
            self.tool_count + other.tool_count,
            self.knows_tokens and other.knows_tokens,
            self.knows_cost and other.knows_cost,
        )

    @classmethod
    def in_run(cls, state: RunState) -> Used:
        """What a run has used; while it runs, what it has told so far."""
        runs, used = not state.status.is_terminal, state.usage
        tells = runs or state.knows_tokens, runs or state.knows_cost
        return cls(used.total_tokens, used.cost, state.tool_count, *tells)


NOTHING_USED = Used(0, 0.0, 0)


def used_by(place: Place, sessions: Sequence[SessionSummary]) -> list[Used]:
    """What all runs of each session have used together; a run whose record cannot be read counts for nothing."""
    resumed = [session.latest.session_id for session in sessions if session.run_count > 1]
    where = f"status IS NOT NULL AND session_id IN ({', '.join('?' * len(resumed))})"
    rows = Index(place.agent_dir).rows(where, resumed) if resumed else []
    known = {Path(row["run_dir"]): Used.in_run(_state_in(row)) for row in rows}
    return [sum(_used_in_each_run(session, known), NOTHING_USED) for session in sessions]


def _used_in_each_run(session: SessionSummary, known: Mapping[Path, Used]) -> Iterator[Used]:
    yield Used.in_run(session.state)
    earlier = session_runs(session.run_dir.parent, session.latest.session_id) if session.run_count > 1 else []
    for folder in earlier:
        if folder != session.run_dir:
            with suppress(StoreError):
                yield known.get(folder) or Used.in_run(load_run(folder))


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
        harnesses = PI_HARNESSES if wanted.agent == DEFAULT_AGENT else (wanted.agent,)
        marks = ", ".join("?" * len(harnesses))
        where += f" AND (status IS NULL OR coalesce(preset, profile) = ? OR coalesce(harness, ?) IN ({marks}))"
        parameters += [wanted.agent, DEFAULT_HARNESS, *harnesses]
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
        return SessionSummary(Run(folder, _state_in(row)), len(runs))
    try:
        run = _facts_of(latest)
    except StoreError:
        return None
    if run.is_over and not run.state.foreign:
        index.record(Path(row["project"]), {latest: run.state})
    return SessionSummary(run, len(runs))


def _state_in(row: Mapping[str, Any]) -> RunState:
    told = ("session_id", "name", "error", "profile", "preset", "provider", "model")
    times = ("created_at", "started_at", "completed_at")
    return RunState(
        run_id=row["run_id"],
        status=Status(row["status"]),
        reason=Reason(row["reason"]) if row["reason"] else None,
        usage=Usage(total_tokens=row["tokens"] or 0, cost=row["cost"] or 0.0),
        tool_count=row["tool_count"] or 0,
        harness=row["harness"] or DEFAULT_HARNESS,
        has_cost=bool(row["knows_cost"]),
        has_told_all=bool(row["knows_cost"]),
        begun=row["tokens"] != 0,
        is_damaged=bool(row["damaged"]),
        **{name: row[name] for name in (*told, *times)},
    )


# --- the disk ----------------------------------------------------------------------------------------------


def _from_disk(list_once: _List, projects: list[Path], wanted: Wanted) -> Iterator[SessionSummary]:
    homes = distinct(map(runs_dir, projects))
    sessions = [runs for home in homes for runs in by_session(list_once(home)).values()]
    for runs in sorted(sessions, key=lambda runs: runs[0].name, reverse=True):
        latest = in_order(runs)[-1]
        with suppress(StoreError):
            session = SessionSummary(_facts_of(latest), len(runs))
            if wanted.accepts(session):
                yield session


def _facts_of(run_dir: Path) -> Run:
    state = facts_of(run_dir)
    state.prompt = ""
    return Run(run_dir, state)
