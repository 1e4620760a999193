"""`steer`: a word to an agent that is at work."""

from __future__ import annotations

import sys

import click

from pi_subagents.control import ask
from pi_subagents.errors import InvalidCall
from pi_subagents.fold import RunState
from pi_subagents.harness import HARNESSES
from pi_subagents.models import Status, short_id
from pi_subagents.planning import Place
from pi_subagents.store import load_run
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
    run_dir = find_run(Place.here(), session)
    state = load_run(run_dir)
    told = f"session {short_id(state.session_id)}"
    if problem := _problem(state):
        raise InvalidCall(problem)
    answer = ask(run_dir, {"op": "steer", "text": words})
    if answer is None:
        raise InvalidCall(f"Nobody answers for {told}; it may have ended just now.")
    if not answer.get("ok"):
        raise InvalidCall(f"{told.capitalize()} was not told: {answer.get('error')}.")
    echo(f"Told {told}; the agent hears it before its next turn.")


def _problem(state: RunState) -> str | None:
    session = short_id(state.session_id)
    if state.status.is_terminal:
        return (
            f"Session {session} is over: {ending_words(state)}\n"
            f"hint: 'pi-subagents sessions resume {session} PROMPT' goes on with it"
        )
    harness = HARNESSES.get(state.harness)
    if harness is not None and not harness.can_steer:
        return (
            f"Session {session} cannot be steered: its agent runs in the mode {state.harness}, which hears "
            'nothing more once it works.\nhint: "harness: pi-rpc" in its profile, or the setting subagents.harness, '
            "makes the next one listen"
        )
    if state.status is Status.QUEUED:
        return f"Session {session} still waits for its turn; its agent has not begun."
    return None
