"""The argument RUN: completed in the shell, and found from the beginning of an id."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from pi_subagents.errors import SessionNotFound
from pi_subagents.place import Place

F = TypeVar("F", bound=Callable[..., Any])

_ADVICE = "'pi-subagents background list --all' lists all background runs"
_MAX_COMPLETIONS = 50


def run_argument(function: F) -> F:
    """Gives a command the argument RUN."""
    return click.argument("run", metavar="RUN", shell_complete=complete_run)(function)


def find_run(place: Place, text: str) -> Path:
    """The directory of the run that `text` names; raises SessionNotFound and InvalidCall."""
    from pi_subagents.runs.lookup import find_run_dir

    try:
        return find_run_dir(place, text)
    except SessionNotFound as error:
        raise SessionNotFound(str(error), advice=_ADVICE) from None


def complete_run(_ctx: click.Context, _param: click.Parameter, start: str) -> list[CompletionItem]:
    """Ids of background runs for the shell, newest first: as the list shows them, or whole where more was typed."""
    from pi_subagents.runs.lookup import short_run_ids
    from pi_subagents.store import Index
    from pi_subagents.text import clean

    logging.disable()  # nothing may be printed into the line that somebody is typing
    where = "background = 1 AND {0} >= ? AND {0} < ?"
    index = Index(Place.here().agent_dir)
    for column in ("session_id", "run_id"):
        rows = index.rows(where.format(column), [start, f"{start}~"], limit=_MAX_COMPLETIONS)
        if rows:
            short = short_run_ids(Path(row["run_dir"]) for row in rows)
            offered = {_completed(start, short[Path(row["run_dir"])], row[column]): row["name"] for row in rows}
            return [CompletionItem(one, help=clean(name) or None) for one, name in offered.items()]
    return []


def _completed(start: str, short: str, whole: str) -> str:
    return short if short.startswith(start) and short != start else whole
