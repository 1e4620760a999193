"""A session's runs as pages to be written: all of them, complete, from their journals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pi_subagents.errors import InvalidCall
from pi_subagents.export import Conversation, Entry, RunPage
from pi_subagents.models.event import Event
from pi_subagents.planning import Place
from pi_subagents.progress import counted
from pi_subagents.sessions import Sessions
from pi_subagents.store import JOURNAL_FILE, load_run, read_journal
from pi_subagents.surfaces.cli.sessions.argument import find_session


def find_runs(place: Place, session: str, number: int | None = None) -> list[Path]:
    """The directories of a session's runs, or of the one with that number; raises SessionNotFound, InvalidCall."""
    session_id = find_session(place, session)
    folders = Sessions(place).run_dirs(session_id)
    if number is None:
        return folders
    if number > len(folders):
        raise InvalidCall(f"Session {session_id} has {counted(len(folders), 'run')}; there is no run {number}.")
    return [folders[number - 1]]


def run_page(run_dir: Path) -> RunPage:
    """A run as it is now, closed if it was lost; raises StoreError."""
    return RunPage(load_run(run_dir), entries(read_journal(run_dir / JOURNAL_FILE)))


def entries(events: Iterable[Event]) -> Iterator[Entry]:
    """The conversation in `events`, with what was not finished at their end."""
    conversation = Conversation()
    for event in events:
        yield from conversation.take(event)
    yield from conversation.rest()
