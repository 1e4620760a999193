"""The argument RUN: completed in the shell, and found from the beginning of an id."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from pi_subagents.errors import SessionNotFound
from pi_subagents.planning import Place

F = TypeVar("F", bound=Callable[..., Any])

_HINT = "hint: 'pi-subagents background list --all' shows the background runs there are"
_MAX_COMPLETIONS = 50


def run_argument(function: F) -> F:
    """Gives a command the argument RUN."""
    return click.argument("run", metavar="RUN", shell_complete=complete_run)(function)


def find_run(place: Place, text: str) -> Path:
    """The directory of the run that `text` names; raises SessionNotFound and InvalidCall."""
    from pi_subagents.lookup import find_run_dir

    try:
        return find_run_dir(place, text)
    except SessionNotFound as error:
        raise SessionNotFound(f"{error}\n{_HINT}") from None


def complete_run(_ctx: click.Context, _param: click.Parameter, start: str) -> list[CompletionItem]:
    """Ids of background runs for the shell, newest first, by run or by session."""
    from pi_subagents.progress import clean
    from pi_subagents.store import Index

    logging.disable()  # nothing may be printed into the line that somebody is typing
    where = "background = 1 AND {0} >= ? AND {0} < ?"
    index = Index(Place.here().agent_dir)
    for column in ("run_id", "session_id"):
        rows = index.rows(where.format(column), [start, f"{start}~"], limit=_MAX_COMPLETIONS)
        if rows:
            return [CompletionItem(row[column], help=clean(row["name"]) or None) for row in rows]
    return []
