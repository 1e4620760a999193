"""`background`: runs that go on when the terminal does something else, or is gone."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from functools import partial

import click

from pi_subagents.clock import now_ms
from pi_subagents.errors import InvalidCall
from pi_subagents.export import status_words, usage_words
from pi_subagents.fold import RunState, fold
from pi_subagents.models import Status
from pi_subagents.models.event import Created
from pi_subagents.place import Place
from pi_subagents.progress import ProgressWords
from pi_subagents.runs.background import TERMINAL, Registry, newest_runs
from pi_subagents.runs.forms import background_row
from pi_subagents.runs.listing import NOTHING_USED, Used
from pi_subagents.runs.run import Run, as_they_end
from pi_subagents.runs.sessions import short_run_id, short_run_ids
from pi_subagents.surfaces.cli.ends import count_as_told, ending_words, stop_runs, tell_where_to_read
from pi_subagents.surfaces.cli.options import (
    Duration,
    all_option,
    complete_run,
    find_run,
    json_option,
    list_options,
    plain_option,
    run_argument,
)
from pi_subagents.surfaces.cli.output import echo, echo_text, markdown_printer, print_json
from pi_subagents.surfaces.cli.tables import (
    Column,
    doer,
    money_spent,
    project_column,
    run_columns,
    show_list,
    tokens_used,
    totals,
    working_time,
)
from pi_subagents.surfaces.cli.views import View, choose_view
from pi_subagents.text import age, clip, counted

_TIMED_OUT = 124
"""As `timeout` has it."""
_INTERRUPTED = 130
_MAX_NAMED = 4
_NAME_CELLS = 40


@click.command("list")
@all_option
@list_options
def list_command(everywhere: bool, limit: int, as_json: bool, pager: bool) -> None:
    """List the latest background runs of this project, whoever started them, newest last.

    Queued runs are waiting for a slot. Exit code 0, even if the list is empty.
    """
    place = Place.here()
    runs = newest_runs(place, limit, everywhere=everywhere)
    if as_json:
        print_json([background_row(run) for run in runs])
    elif runs:
        _show_list(runs[::-1], with_project=everywhere, pager=pager)
    else:
        where = "" if everywhere else f" in {place.project}"
        echo(f"No background runs{where} yet; start one with 'pi-subagents background start'.", err=True)


def _show_list(runs: Sequence[Run], *, with_project: bool, pager: bool) -> None:
    short = short_run_ids(run.run_dir for run in runs)
    columns: list[Column[Run]] = [
        *run_columns("run", lambda run: short[run.run_dir], lambda run: run.state),
        Column("tokens", lambda run: tokens_used(Used.in_run(run.state)), right=True, gives_way=3),
        Column("cost", lambda run: money_spent(Used.in_run(run.state)), right=True, gives_way=1),
    ]
    if with_project:
        columns.append(project_column(lambda run: run.project))
    footer = totals(len(runs), "run", sum((Used.in_run(run.state) for run in runs), NOTHING_USED))
    show_list(columns, runs, footer, pager=pager)


@click.command()
@run_argument
@json_option
def status(run: str, as_json: bool) -> None:
    """Show the status of RUN and, once it has ended, its final text or error.

    Exit code 0 if the run exists, whatever its status.
    """
    found = find_run(Place.here(), run)
    if as_json:
        print_json(background_row(found))
    else:
        run_dir, text = found.run_dir, found.state.text.strip()
        for name, value in (("run", short_run_id(run_dir)), *_facts(found.state), ("record", run_dir)):
            echo(f"{name:<8} {value}")
        if found.is_over and text:
            echo()
            markdown_printer()(text)
    count_as_told(found)


def _facts(state: RunState) -> Iterator[tuple[str, str]]:
    yield "agent", doer(state)
    yield "task", " ".join(state.name.split())
    yield "status", status_words(state)
    if state.error:
        yield "error", state.error
    if state.created_at is not None:
        how = "" if state.beginning == "fresh" else f", {state.beginning}"
        yield "begun", f"{age(now_ms() - state.created_at)} ago{how}"
    if took := working_time(state):
        yield "time", took
    yield "used", usage_words(state)


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_run)
@click.option("--timeout", type=Duration(), help="Give up after this time: 90, 90s, 5m, 1h30m.")
@click.option("--any", "any_one", is_flag=True, help="Return as soon as one of them ends.")
@click.option("--json", "as_json", is_flag=True, help="Print the final status of each run as JSON.")
def wait(runs: tuple[str, ...], timeout: float | None, any_one: bool, as_json: bool) -> None:
    """Wait for every RUN to end and report how each ended.

    Without RUN, wait for all runs that you started in this project and whose end you have not seen yet. Exit code 0 if
    every run that ended completed, 1 if one failed or was aborted, 124 on timeout, 130 after Ctrl+C, which does not
    stop the runs.
    """
    place = Place.here()
    named = (find_run(place, text) for text in runs)
    wanted = list({run.run_dir: run for run in named}.values()) or _untold(place)
    if not wanted and not as_json:
        echo("You have no active background runs in this project, and none left to report.", err=True)
        return
    if not as_json:
        _say_whom(wanted)
    over: list[Run] = []
    exit_code = _wait(wanted, over, timeout, any_one, quiet=as_json)
    if as_json:
        _print_ends(wanted)
    elif exit_code <= 1:
        tell_where_to_read(over[0])
    sys.exit(exit_code)


def _untold(place: Place) -> list[Run]:
    registry = Registry(place, TERMINAL)
    active = [run for run in registry.runs() if not run.is_over and not run.state.foreign]
    found = {run.run_dir: run for run in (*active, *registry.unannounced())}
    return sorted(found.values(), key=lambda run: run.id)


def _say_whom(runs: Sequence[Run]) -> None:
    """A wait may take hours: say what for, unless nothing is left to wait for."""
    if left := [run for run in runs if not run.is_done]:
        names = ", ".join(clip(run.state.name, _NAME_CELLS) for run in left[:_MAX_NAMED])
        more = f" and {len(left) - _MAX_NAMED} more" if len(left) > _MAX_NAMED else ""
        echo(f"waiting for {counted(len(left), 'run')}: {names}{more}; Ctrl+C does not stop them", err=True)


def _wait(runs: Sequence[Run], over: list[Run], timeout: float | None, any_one: bool, *, quiet: bool) -> int:
    """Tell every end as it comes, and put the run to those that are `over`; the exit code."""
    try:
        for ended in as_they_end(runs, timeout):
            over += ended
            for run in ended if not quiet else ():
                _tell_end(run)
            if any_one:
                break
    except KeyboardInterrupt:
        echo("Stopped waiting; the runs continue.", err=True)
        return _INTERRUPTED
    if len(over) < len(runs) and not (any_one and over):
        echo(f"Timed out waiting for {counted(len(runs) - len(over), 'run')}.", err=True)
        return _TIMED_OUT
    return int(any(run.state.status is not Status.COMPLETED for run in over))


def _tell_end(run: Run) -> None:
    echo(f"{short_run_id(run.run_dir)}  {run.state.name}  {ending_words(run.state)}")
    count_as_told(run)


def _print_ends(waited_for: Sequence[Run]) -> None:
    runs = [Run.load(run.run_dir) for run in waited_for]
    print_json([background_row(run) for run in runs])
    for run in runs:
        count_as_told(run)


@click.command()
@run_argument
@click.option("-f", "--follow", is_flag=True, help="Keep printing until the run ends.")
def logs(run: str, follow: bool) -> None:
    """Print what RUN has done so far, one line per event; 'sessions show' prints it in full.

    Exit code 0 if the run exists, however it ended; 130 after Ctrl+C, which does not stop the run.
    """
    found = find_run(Place.here(), run)  # a lost run is closed by this, so that its end is told too
    words = ProgressWords(cwd=found.state.cwd, multiline=True)
    try:
        for event in found.follow() if follow else found.events():
            if line := words.say(event):
                echo_text(line)
    except KeyboardInterrupt:
        echo("Stopped following; the run continues.", err=True)
        sys.exit(_INTERRUPTED)
    now = Run.load(found.run_dir)
    count_as_told(now)
    if not now.is_over:
        echo(f"Still {now.state.status}; use -f to follow it.", err=True)


@click.command()
@run_argument
def stop(run: str) -> None:
    """Stop RUN, running or queued, wait until all its processes are gone, and report how it ended.

    Exit code 0 if the run has ended, now or earlier; 1 if it did not end in time or does not exist.
    """
    found = find_run(Place.here(), run)
    exit_code = stop_runs(f"Run {short_run_id(found.run_dir)}", [found])
    count_as_told(Run.load(found.run_dir))
    sys.exit(exit_code)


@click.command()
@run_argument
@plain_option
def attach(run: str, plain: bool) -> None:
    """Watch RUN in a live window: x stops it, after confirmation; q or Ctrl+C leaves it running.

    Exit code 0 if it completed or you left with q, 1 if it failed or was aborted, 130 if you left with Ctrl+C.
    """
    from pi_subagents.processes.interrupts import Interrupted, run_until_signalled

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
    shown = OneRun(state, settings, run.stop, partial(_tell, run))
    async with view.showing(shown):
        tasks = [asyncio.create_task(_show(run, state, view)), asyncio.create_task(left.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _tell(run: Run, text: str) -> str | None:
    try:
        await asyncio.to_thread(run.steer, text)
    except InvalidCall as problem:
        return str(problem).rstrip(".")
    return None


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
