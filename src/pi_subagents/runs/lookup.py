"""From what people type to a session or a run, and back: an id, or as much of its beginning as no other has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pi_subagents.clock import now_ms
from pi_subagents.errors import AmbiguousId, SessionNotFound, StoreError
from pi_subagents.files import distinct
from pi_subagents.models import begun_at, short_ids
from pi_subagents.paths import project_of, runs_dir
from pi_subagents.place import Place
from pi_subagents.runs.sessions import Session, Sessions, session_not_found, several_places
from pi_subagents.store import Index, by_session, in_order, list_runs, load_run, session_of
from pi_subagents.text import age, clean

_MAX_LISTED = 10
_RUN_ID = re.compile(r"\d+(T\d*(-[0-9a-f]*)?)?")
"""Run ids begin with a date, and so can those of sessions, up to the T."""


@dataclass(frozen=True, slots=True)
class Candidate:
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
    lines += [f"  {short[one.id]:<{width}}  {_age(one.run_dir):>8}  {_name(one)}" for one in shown]
    if len(candidates) > _MAX_LISTED:
        lines.append(f"  … and {len(candidates) - _MAX_LISTED} more")
    raise AmbiguousId("\n".join(lines))


def _age(run_dir: Path) -> str:
    return f"{age(now_ms() - begun_at(run_dir.name))} ago"


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
