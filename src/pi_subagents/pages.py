"""Runs as pages to be written: complete, from their journals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pi_subagents.export import Conversation, Entry, RunPage
from pi_subagents.models.event import Event
from pi_subagents.store import JOURNAL_FILE, load_run, read_journal


def run_page(run_dir: Path) -> RunPage:
    """A run as it is now, closed if it was lost; raises StoreError."""
    return RunPage(load_run(run_dir), entries(read_journal(run_dir / JOURNAL_FILE)))


def entries(events: Iterable[Event]) -> Iterator[Entry]:
    """The conversation in `events`, with what was not finished at their end."""
    conversation = Conversation()
    for event in events:
        yield from conversation.take(event)
    yield from conversation.rest()
