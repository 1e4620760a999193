"""`background attach`."""

from __future__ import annotations

import asyncio
import sys

import click

from pi_subagents.fold import RunState, fold
from pi_subagents.models import Status
from pi_subagents.models.event import Created
from pi_subagents.place import Place
from pi_subagents.processes.interrupts import Interrupted, run_until_signalled
from pi_subagents.runs.run import Run
from pi_subagents.runs.sessions import short_run_id
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
    found = find_run(Place.here(), run)
    try:
        run_until_signalled(_watch(found, plain))
    except Interrupted as signal:
        _say_how_it_stands(found)
        sys.exit(signal.exit_code)
    now = _say_how_it_stands(found)
    sys.exit(0 if now.state.status is Status.COMPLETED or not now.is_over else 1)


async def _watch(run: Run, plain: bool) -> None:
    from pi_subagents.surfaces.live import OneRun

    left = asyncio.Event()
    view = choose_view(plain=plain, leave=left.set)
    state = fold(RunState.of_run(run.id), (event for event in run.events() if isinstance(event, Created)))
    settings = Place.here().settings()
    shown = OneRun(state, settings, run.stop)
    async with view.showing(shown):
        tasks = [asyncio.create_task(_show(run, state, view)), asyncio.create_task(left.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _show(run: Run, state: RunState, view: View) -> None:
    async for events in run.watch():
        news = [event for event in events if not isinstance(event, Created)]
        fold(state, news)
        view.observe(state, news)


def _say_how_it_stands(run: Run) -> Run:
    now = Run.load(run.run_dir)
    if now.is_over:
        echo(f"Run {short_run_id(run.run_dir)} has ended: {ending_words(now.state)}")
        tell_where_to_read(now)
        count_as_told(now)
    else:
        echo(f"Run {short_run_id(run.run_dir)} is still running.", err=True)
    return now
