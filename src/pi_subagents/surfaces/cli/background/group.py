"""The group `background`; each of its commands is loaded when it is called, and all of them pass on the news."""

from __future__ import annotations

import click

from pi_subagents.surfaces.cli.app import LazyGroup

_COMMANDS = {
    "start": ("start", "Start an agent and return immediately."),
    "list": ("listing", "List background runs, newest last."),
    "status": ("status", "Show a run's status and result."),
    "wait": ("wait", "Wait for runs to end."),
    "logs": ("logs", "Print what an agent has done so far."),
    "stop": ("stop", "Stop a run."),
    "attach": ("attach", "Watch a run live; leaving does not stop it."),
}


@click.group(cls=LazyGroup, package=__package__, table=_COMMANDS)
@click.pass_context
def background(context: click.Context) -> None:
    """Start, watch and stop background agents.

    RUN is the id that 'list' shows, or any unique prefix of a run or session id. When runs that you started in this
    project have ended, your next command reports them once, on standard error.
    """
    # Whoever starts several and then waits for them must not miss that the first has failed meanwhile.
    if context.invoked_subcommand != "start":
        context.call_on_close(_tell_endings)


def _tell_endings() -> None:
    from pi_subagents.place import Place
    from pi_subagents.surfaces.cli.notices import tell_endings

    tell_endings(Place.here())
