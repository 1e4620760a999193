"""The argument RUN: completed in the shell, and found from the beginning of an id."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from pi_subagents.errors import SessionNotFound
from pi_subagents.place import Place

if TYPE_CHECKING:
    from pi_subagents.runs.run import Run

F = TypeVar("F", bound=Callable[..., Any])

_ADVICE = "'pi-subagents background list --all' lists all background runs"
_MAX_COMPLETIONS = 50


def run_argument(function: F) -> F:
    """Gives a command the argument RUN."""
    return click.argument("run", metavar="RUN", shell_complete=complete_run)(function)


def find_run(place: Place, text: str) -> Run:
    """The run that `text` names; raises SessionNotFound, InvalidCall and StoreError."""
    from pi_subagents.runs.run import Run
    from pi_subagents.runs.sessions import find_run_dir

    try:
        return Run.load(find_run_dir(place, text))
    except SessionNotFound as error:
        raise SessionNotFound(str(error), advice=_ADVICE) from None


def complete_run(_ctx: click.Context, _param: click.Parameter, start: str) -> list[CompletionItem]:
    """Ids of background runs for the shell, newest first: as the list shows them, or whole where more was typed."""
    from pi_subagents.runs.sessions import background_runs_beginning, short_run_ids
    from pi_subagents.text import clean

    logging.disable()  # nothing may be printed into the line that somebody is typing
    found = background_runs_beginning(Place.here(), start, _MAX_COMPLETIONS)
    short = short_run_ids(one.run_dir for one in found)
    offered = {_completed(start, short[one.run_dir], one.id): one.name for one in found}
    return [CompletionItem(one, help=clean(name) or None) for one, name in offered.items()]


def _completed(start: str, short: str, whole: str) -> str:
    return short if short.startswith(start) and short != start else whole
