"""`steer`: a word to an agent that is at work."""

from __future__ import annotations

import sys

import click

from pi_subagents.errors import InvalidCall
from pi_subagents.models import short_id
from pi_subagents.place import Place
from pi_subagents.surfaces.cli.background.argument import find_run
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.sessions.argument import session_argument
from pi_subagents.surfaces.cli.stopping import ending_words


@click.command()
@session_argument
@click.argument("text")
def steer(session: str, text: str) -> None:
    """Tell the running agent of SESSION something before its next turn, without stopping it.

    A TEXT of - is read from standard input. SESSION may also be a run. Exit code 0 if the agent was told, 1 if not:
    because it has finished or not begun, or because its harness cannot be told anything (standard error says which).
    """
    words = sys.stdin.read() if text == "-" else text
    if not words.strip():
        raise InvalidCall("there is nothing to say: TEXT is empty")
    run = find_run(Place.here(), session)
    told = short_id(run.session_id)
    if run.is_over:
        raise InvalidCall(
            f"Session {told} is over: {ending_words(run.state)}",
            advice=f"'pi-subagents sessions resume {told} PROMPT' goes on with it",
        )
    run.steer(words)
    echo(f"Told session {told}; the agent hears it before its next turn.")
