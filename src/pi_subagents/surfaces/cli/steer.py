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
    """Send TEXT to the running agent of SESSION, which reads it before its next turn.

    A TEXT of - is read from standard input. SESSION may also be a run id. Exit code 0 if the agent got it, 1 if not:
    it has ended or not started, or its harness cannot be steered (standard error says which).
    """
    words = sys.stdin.read() if text == "-" else text
    if not words.strip():
        raise InvalidCall("TEXT is empty")
    run = find_run(Place.here(), session)
    told = short_id(run.session_id)
    if run.is_over:
        raise InvalidCall(
            f"Session {told} has ended: {ending_words(run.state)}",
            advice=f"continue it with 'pi-subagents sessions resume {told} PROMPT'",
        )
    run.steer(words)
    echo(f"Sent to session {told}; the agent reads it before its next turn.")
