"""Runs as pages to be written: complete, from their journals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pi_subagents.clock import now_ms
from pi_subagents.export import Conversation, Entry, RunPage, session_html, session_markdown
from pi_subagents.fold import RunState
from pi_subagents.models.event import Event
from pi_subagents.models.memory import RecentMessages, StreamedText
from pi_subagents.store import JOURNAL_FILE, load_run, read_journal

PageKind = Literal["md", "html"]


def pieces(run_dirs: Sequence[Path], kind: PageKind) -> Iterator[str]:
    """The runs of a session as one text, bit by bit: it may be long. Raises StoreError before the first bit."""
    pages = [run_page(folder) for folder in run_dirs]
    return session_html(pages, now_ms()) if kind == "html" else _markdown(pages)


def _markdown(pages: Sequence[RunPage]) -> Iterator[str]:
    for number, block in enumerate(session_markdown(pages)):
        yield f"\n{block}\n" if number else f"{block}\n"


def run_page(run_dir: Path) -> RunPage:
    """A run as it is now, closed if it was lost; raises StoreError."""
    return RunPage(facts_of(run_dir), _StoredEntries(run_dir))


def facts_of(run_dir: Path) -> RunState:
    """The true state of a run without what was said in it: a session may have a great many; raises StoreError."""
    state = load_run(run_dir)
    state.messages, state.partial, state.final_text = RecentMessages(), StreamedText(), None
    return state


@dataclass(frozen=True)
class _StoredEntries:
    """The conversation as the journal has it, read anew each time and never held in memory."""

    run_dir: Path

    def __iter__(self) -> Iterator[Entry]:
        return entries(read_journal(self.run_dir / JOURNAL_FILE))


def entries(events: Iterable[Event]) -> Iterator[Entry]:
    """The conversation in `events`, with what was not finished at their end."""
    conversation = Conversation()
    for event in events:
        yield from conversation.take(event)
    yield from conversation.rest()
