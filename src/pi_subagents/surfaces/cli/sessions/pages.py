"""Which runs of a session a command is about."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.errors import InvalidCall
from pi_subagents.models import short_id
from pi_subagents.place import Place
from pi_subagents.runs.sessions import Sessions
from pi_subagents.surfaces.cli.sessions.argument import find_session
from pi_subagents.text import counted


def find_runs(place: Place, session: str, number: int | None = None) -> list[Path]:
    """The directories of a session's runs, or of the one with that number; raises SessionNotFound, InvalidCall."""
    session_id = find_session(place, session)
    folders = Sessions(place).run_dirs(session_id)
    if number is None:
        return folders
    if number > len(folders):
        raise InvalidCall(
            f"Session {short_id(session_id)} has {counted(len(folders), 'run')}; there is no run {number}."
        )
    return [folders[number - 1]]
