"""From what people type to a session or a run: the id itself, or enough of its beginning."""

from __future__ import annotations

import re
from pathlib import Path

from pi_subagents.errors import InvalidCall, SessionNotFound
from pi_subagents.files import distinct
from pi_subagents.paths import project_of, runs_dir
from pi_subagents.planning import Place
from pi_subagents.sessions import Sessions, several_places
from pi_subagents.store import Index, list_runs, session_of

MIN_PREFIX = 4
_MAX_NAMED = 5
_RUN_ID = re.compile(r"\d{8}T")
"""How run ids begin, and no session id can: with a date."""


def find_session_id(place: Place, text: str) -> str:
    """The id that `text` is or begins; raises SessionNotFound, and InvalidCall where it begins several."""
    text = text.strip().lower()
    try:
        Sessions(place).run_dirs(text)
    except SessionNotFound:
        found = session_ids(place, text) if len(text) >= MIN_PREFIX and text.isalnum() else {}
        if len(found) == 1:
            return next(iter(found))
        if found:
            raise InvalidCall(_ambiguous(text, found)) from None
        raise
    return text


def find_run_dir(place: Place, text: str) -> Path:
    """The directory of a run, named by the beginning of its id or by its session, of which the latest is meant.

    Raises SessionNotFound, and InvalidCall where the text begins several ids.
    """
    if not _RUN_ID.match(text.strip()):
        return Sessions(place).run_dirs(find_session_id(place, text))[-1]
    found = run_dirs(place, text.strip())
    if len(found) > 1:
        raise InvalidCall(_ambiguous(text.strip(), dict.fromkeys(found, ""), "run"))
    if not found:
        raise SessionNotFound(f'Run "{text.strip()}" not found.')
    run_id, folders = next(iter(found.items()))
    if len(folders) > 1:
        raise several_places(f'Run "{run_id}"', map(project_of, folders))
    return folders[0]


def run_dirs(place: Place, prefix: str, limit: int = 1000) -> dict[str, list[Path]]:
    """Where the runs are whose ids begin with `prefix`; what the project at hand has is not looked for in others."""
    here = {folder.name: [folder] for folder in list_runs(runs_dir(place.project)) if folder.name.startswith(prefix)}
    found: dict[str, list[Path]] = {}
    for row in Index(place.agent_dir).rows("run_id >= ? AND run_id < ?", [prefix, f"{prefix}~"], limit=limit):
        if (folder := Path(row["run_dir"])).is_dir():
            found.setdefault(row["run_id"], []).append(folder)
    return {run_id: distinct(folders) for run_id, folders in {**found, **here}.items()}


def session_ids(place: Place, prefix: str = "", limit: int = 1000) -> dict[str, str]:
    """Ids that begin with `prefix`, newest first, each with the name of its latest task where the index knows it.

    Sessions of the project at hand are found without the index too.
    """
    where = "session_id >= ? AND session_id < ?"
    found: dict[str, str] = {}
    for row in Index(place.agent_dir).sessions(where, [prefix, f"{prefix}~"], limit=limit):
        if Path(row["run_dir"]).is_dir():
            found.setdefault(row["session_id"], row["name"])
    for folder in reversed(list_runs(runs_dir(place.project))):
        session_id = session_of(folder)
        if session_id.startswith(prefix):
            found.setdefault(session_id, "")
    return found


def _ambiguous(text: str, found: dict[str, str], word: str = "session") -> str:
    named = [f"{one} ({name})" if name else one for one, name in found.items()]
    more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
    return f'"{text}" begins several {word} ids: {", ".join(named[:_MAX_NAMED])}{more}. Give more of the one you mean.'
