"""`background status`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from pi_subagents.clock import now_ms
from pi_subagents.export import status_words
from pi_subagents.fold import RunState
from pi_subagents.place import Place
from pi_subagents.runs.forms import background_row
from pi_subagents.runs.sessions import short_run_id
from pi_subagents.surfaces.cli.background.argument import find_run, run_argument
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.markdown import markdown_printer
from pi_subagents.surfaces.cli.notices import count_as_told
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.text import age, counted, duration, money


@click.command()
@run_argument
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
    yield "agent", state.agent or "–"
    yield "task", " ".join(state.name.split())
    yield "status", status_words(state)
    if state.error:
        yield "error", state.error
    if state.created_at is not None:
        yield "begun", f"{age(now_ms() - state.created_at)} ago"
    if state.started_at is not None:
        yield "time", duration(((state.completed_at or now_ms()) - state.started_at) / 1000)
    usage = state.usage
    yield "used", f"{counted(state.tool_count, 'tool call')}, {usage.total_tokens:,} tokens, {money(usage.cost)}"
