"""`background attach`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from pi_subagents.fold import RunState, fold
from pi_subagents.models import Status
from pi_subagents.models.event import Created
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.place import Place
from pi_subagents.processes.interrupts import Interrupted, run_until_signalled
from pi_subagents.runs.following import watch_run
from pi_subagents.runs.lookup import short_run_id
from pi_subagents.store import JOURNAL_FILE, load_run, read_journal, request_stop
from pi_subagents.surfaces.cli.background.argument import find_run, run_argument
from pi_subagents.surfaces.cli.notices import count_as_told
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.stopping import ending_words, tell_where_to_read
from pi_subagents.surfaces.cli.views import View, choose_view


@click.command()
@run_argument
@click.option("--plain", is_flag=True, help="Print one line per event; never redraw.")
def attach(run: str, plain: bool) -> None:
    """Watch RUN in a live window: x stops it, after confirmation; q or Ctrl+C leaves it running.

    Exit code 0 if it completed or you left with q, 1 if it failed or was aborted, 130 if you left with Ctrl+C.
    """
    run_dir = find_run(Place.here(), run)
    try:
        run_until_signalled(_watch(run_dir, plain))
    except Interrupted as signal:
        _say_how_it_stands(run_dir)
        sys.exit(signal.exit_code)
    state = _say_how_it_stands(run_dir)
    sys.exit(0 if state.status is Status.COMPLETED or not state.status.is_terminal else 1)


async def _watch(run_dir: Path, plain: bool) -> None:
    from pi_subagents.surfaces.live import OneRun

    left = asyncio.Event()
    view = choose_view(plain=plain, leave=left.set)
    state = _beginning(run_dir)
    settings = Place.here().settings()
    shown = OneRun(state, settings, lambda: request_stop(run_dir, CANCELLED_SENTENCE))
    async with view.showing(shown):
        tasks = [asyncio.create_task(_show(run_dir, state, view)), asyncio.create_task(left.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _beginning(run_dir: Path) -> RunState:
    load_run(run_dir)  # raises StoreError for a record that cannot be read
    return fold(
        RunState.of_run(run_dir.name),
        (event for event in read_journal(run_dir / JOURNAL_FILE) if isinstance(event, Created)),
    )


async def _show(run_dir: Path, state: RunState, view: View) -> None:
    async for events in watch_run(run_dir):
        news = [event for event in events if not isinstance(event, Created)]
        fold(state, news)
        view.observe(state, news)


def _say_how_it_stands(run_dir: Path) -> RunState:
    state = load_run(run_dir)
    if state.status.is_terminal:
        echo(f"Run {short_run_id(run_dir)} has ended: {ending_words(state)}")
        tell_where_to_read(run_dir)
        count_as_told(state, run_dir)
    else:
        echo(f"Run {short_run_id(run_dir)} is still running.", err=True)
    return state
