"""`sessions output`."""

from __future__ import annotations

import sys

import click

from pi_subagents.export import error_words, seconds
from pi_subagents.export.transcripts import NO_OUTPUT
from pi_subagents.models import Status
from pi_subagents.place import Place
from pi_subagents.runs.forms import output_row
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.markdown import markdown_printer
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.sessions.argument import find_session, session_argument

_STILL_RUNNING = 3


@click.command()
@session_argument
@click.option("--json", "as_json", is_flag=True, help="Print the text, status, error and usage as JSON.")
def output(session: str, as_json: bool) -> None:
    """Print the final text of SESSION's latest run, or the text so far while it runs.

    On a terminal, Markdown is rendered; in a pipe or a file it stays as the agent wrote it.

    Exit code 0 if the run completed, 1 if it failed or was aborted (standard error says why) or the session does not
    exist, 3 if it is still running.
    """
    found = find_session(Place.here(), session)
    state = found.latest.state
    if as_json:
        print_json(output_row(found))
    elif state.text.strip():
        markdown_printer()(state.text.strip())
    else:
        echo(NO_OUTPUT, err=True)
    if not state.status.is_terminal:
        echo(f"Still {state.status}: this is the text so far.", err=True)
        sys.exit(_STILL_RUNNING)
    if state.status is not Status.COMPLETED:
        why = error_words(state.error, state.reason, seconds(state)) if state.error else state.reason
        echo(f"✗ {state.status}: {why}", err=True)
        sys.exit(1)
