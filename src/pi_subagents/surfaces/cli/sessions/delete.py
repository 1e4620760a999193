"""`sessions delete`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from pi_subagents.errors import InvalidCall, SessionBusy
from pi_subagents.models import short_id
from pi_subagents.place import Place
from pi_subagents.runs.retention import Dispensable, dispensable
from pi_subagents.runs.sessions import Session
from pi_subagents.surfaces.cli.sessions.argument import complete_session, find_session
from pi_subagents.surfaces.cli.sessions.deleting import Unwanted, announce, delete_all, require_consent


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...", shell_complete=complete_session)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation; required without a terminal.")
def delete(sessions: tuple[str, ...], yes: bool) -> None:
    """Delete every SESSION with all its runs. This cannot be undone.

    It lists what it would delete and asks first. If one of them is running or is a foreign record, nothing is deleted.
    Exit code 0 if they were deleted, 1 if not, 2 if there was no terminal to ask at.
    """
    place = Place.here()
    found = {one.id: one for one in (find_session(place, text) for text in sessions)}
    unwanted = Unwanted([_dispensable(session) for session in found.values()])
    _require_whole_ids(unwanted.sessions, sessions, place)
    announce(unwanted)
    if not yes:
        require_consent()
    sys.exit(delete_all(unwanted, place))


def _require_whole_ids(found: Sequence[Dispensable], typed: Sequence[str], place: Place) -> None:
    """Raise InvalidCall for sessions elsewhere of which only a beginning was typed: it may be a slip of the finger."""
    for session in found:
        if session.project != place.project and session.session_id not in typed:
            raise InvalidCall(
                f'Session {session.session_id} ("{session.name}") belongs to {session.project}. '
                "To delete it from here, give its full id."
            )


def _dispensable(session: Session) -> Dispensable:
    try:
        return dispensable(session.run_dirs)
    except SessionBusy as error:
        raise SessionBusy(f"{error} Stop it first: 'pi-subagents sessions stop {short_id(session.id)}'.") from None
