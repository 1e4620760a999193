"""The argument SESSION: completed in the shell, and found from the beginning of an id."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from pi_subagents.errors import SessionNotFound
from pi_subagents.place import Place

if TYPE_CHECKING:
    from pi_subagents.runs.sessions import Session

F = TypeVar("F", bound=Callable[..., Any])

_ADVICE = "'pi-subagents sessions list --all' lists all sessions"
_MAX_COMPLETIONS = 50


def session_argument(function: F) -> F:
    """Gives a command the argument SESSION."""
    return click.argument("session", metavar="SESSION", shell_complete=complete_session)(function)


def find_session(place: Place, text: str) -> Session:
    """The session that `text` names; raises SessionNotFound and InvalidCall."""
    from pi_subagents.runs import sessions

    try:
        return sessions.find_session(place, text)
    except SessionNotFound as error:
        raise SessionNotFound(str(error), advice=_ADVICE) from None


def complete_session(_ctx: click.Context, _param: click.Parameter, start: str) -> list[CompletionItem]:
    """Ids of sessions for the shell, newest first: as the list shows them, or whole where more was typed."""
    from pi_subagents.models import short_ids
    from pi_subagents.runs.sessions import sessions_beginning
    from pi_subagents.text import clean

    logging.disable()  # nothing may be printed into the line that somebody is typing
    found = sessions_beginning(Place.here(), start, _MAX_COMPLETIONS)
    short = short_ids(one.id for one in found)
    return [
        CompletionItem(short[one.id] if len(short[one.id]) > len(start) else one.id, help=clean(one.name) or None)
        for one in found
    ]
