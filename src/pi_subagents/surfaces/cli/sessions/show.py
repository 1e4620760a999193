"""`sessions show`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from pi_subagents.errors import InvalidCall
from pi_subagents.export import (
    Entry,
    Given,
    RunPage,
    code_span,
    entry_markdown,
    run_ending,
    run_heading,
    session_heading,
)
from pi_subagents.fold import RunState, fold
from pi_subagents.models import short_id
from pi_subagents.models.event import AnyEvent
from pi_subagents.place import Place
from pi_subagents.runs.run import Run, entries, facts_of
from pi_subagents.runs.sessions import Session
from pi_subagents.surfaces.cli.json_output import print_json_line
from pi_subagents.surfaces.cli.markdown import print_block
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.sessions.argument import find_session, session_argument
from pi_subagents.text import counted

_PROMPT_FILE = "prompt.md"
_INTERRUPTED = 130


@click.command()
@session_argument
@click.option("-f", "--follow", is_flag=True, help="Keep printing until the run ends.")
@click.option("--run", "number", type=click.IntRange(min=1), metavar="N", help="Show only run N.")
@click.option("--json", "as_json", is_flag=True, help="Print every event, one JSON object per line.")
def show(session: str, follow: bool, number: int | None, as_json: bool) -> None:
    """Show the full transcript of SESSION, with all its runs, as Markdown.

    On a terminal, the Markdown is rendered. Exit code 0 if the session exists, however it ended.
    """
    folders = _folders(find_session(Place.here(), session), number)
    write = _write_events if as_json else _write_markdown
    try:
        state = write(folders, follow)
    except KeyboardInterrupt:
        echo("Stopped following.", err=True)
        sys.exit(_INTERRUPTED)
    if not state.status.is_terminal and not follow:
        echo(f"Still {state.status}; use --follow to see the rest.", err=True)


def _folders(session: Session, number: int | None) -> Sequence[Path]:
    if number is None:
        return session.run_dirs
    if number > session.run_count:
        raise InvalidCall(
            f"Session {short_id(session.id)} has {counted(session.run_count, 'run')}; there is no run {number}."
        )
    return session.run_dirs[number - 1 : number]


def _write_events(folders: Sequence[Path], follow: bool) -> RunState:
    state = RunState()
    for folder in folders:
        state = RunState.of_run(folder.name)
        for event in _told(state, _events(folder, follow)):
            print_json_line(event)
    return state


def _write_markdown(folders: Sequence[Path], follow: bool) -> RunState:
    pages = [RunPage(facts_of(folder), ()) for folder in folders]
    for block in session_heading(pages):
        print_block(block)
    for position, folder in enumerate(folders, 1):
        state = RunState.of_run(folder.name)
        for block in run_heading(pages[position - 1].state, position, len(folders)):
            print_block(block)
        for entry in entries(_told(state, _events(folder, follow))):
            print_block(_block(entry, folder))
        print_block(run_ending(state))
        pages[position - 1] = RunPage(state, ())
    return pages[-1].state


def _events(folder: Path, follow: bool) -> Iterable[AnyEvent]:
    run = Run.load(folder)  # a lost run is closed by this, so that its end is shown too
    return run.follow() if follow else run.events()


def _told(state: RunState, events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    for event in events:
        fold(state, [event])
        yield event


def _block(entry: Entry, folder: Path) -> str:
    if isinstance(entry, Given):
        # Files and earlier runs can be long, and the runs have been shown already.
        where = code_span(str(folder / _PROMPT_FILE))
        return f"The agent got {len(entry.text):,} characters, with files or earlier runs before the task: {where}"
    return entry_markdown(entry)
