"""The group `background`; each of its commands is loaded when it is called, and all of them pass on the news."""

from __future__ import annotations

import click

from pi_subagents.surfaces.cli.lazy import LazyGroup

_COMMANDS = {
    "start": ("start", "Start an agent and return at once."),
    "list": ("listing", "List background runs, the newest at the end."),
    "status": ("status", "Say how a run stands, and what came of it."),
    "wait": ("wait", "Wait until runs are over."),
    "logs": ("logs", "Print what an agent did, also while it works."),
    "stop": ("stop", "Stop a run."),
    "attach": ("attach", "Watch a run live; leaving does not disturb it."),
}


@click.group(cls=LazyGroup, package=__package__, table=_COMMANDS)
@click.pass_context
def background(context: click.Context) -> None:
    """Start, watch and stop agents that work in the background.

    A RUN is named by the id that 'list' shows, or by any beginning of its own or its session's id that no other has.
    Runs that you started in this project and that have ended since your last command are told once, on standard error.
    """
    # Whoever starts several and then waits for them must not miss that the first has failed meanwhile.
    if context.invoked_subcommand != "start":
        context.call_on_close(_tell_endings)


def _tell_endings() -> None:
    from pi_subagents.place import Place
    from pi_subagents.surfaces.cli.notices import tell_endings

    tell_endings(Place.here())
