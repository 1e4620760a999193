"""`sessions stop`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from pi_subagents.export import printable, status_words
from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.planning import Place
from pi_subagents.sessions import Sessions
from pi_subagents.store import load_run, request_stop
from pi_subagents.surfaces.cli.sessions.argument import find_session, session_argument

_WAIT_S = 8.0
"""Longer than an agent gets between the polite request and the kill."""
_POLL_S = 0.1


@click.command()
@session_argument
def stop(session: str) -> None:
    """Stop SESSION if it is running, wait until nothing of it is left, and say what became of it.

    Exit code 0 if it is over, whether it was stopped or had ended before; 1 if it did not end in time, or if there is
    no such session.
    """
    place = Place.here()
    session_id = find_session(place, session)
    states = {folder: load_run(folder) for folder in Sessions(place).run_dirs(session_id)}
    running = [folder for folder, state in states.items() if not state.status.is_terminal]
    if not running:
        latest = list(states.values())[-1]
        click.echo(f"Session {session_id} is over already: {_words(latest)}")
        return
    for folder in running:
        request_stop(folder, CANCELLED_SENTENCE)
    deadline = time.monotonic() + _WAIT_S
    for folder in running:
        if not _wait(folder, deadline):
            click.echo(_too_long(session_id), err=True)
            sys.exit(1)
        click.echo(_report(session_id, load_run(folder)))


def _wait(run_dir: Path, deadline: float) -> bool:
    while not load_run(run_dir).status.is_terminal:
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _report(session_id: str, state: RunState) -> str:
    if state.status is Status.COMPLETED:
        return f"Session {session_id} completed before it could be stopped."
    return f"Session {session_id} is over: {_words(state)}"


def _too_long(session_id: str) -> str:
    return (
        f"Session {session_id} was asked to stop, but has not ended within {_WAIT_S:g} s; "
        f"watch it with 'pi-subagents sessions show --follow {session_id}'."
    )


def _words(state: RunState) -> str:
    return f"{status_words(state)}{f' – {printable(state.error)}' if state.error else ''}"
