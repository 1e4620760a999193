"""The group `sessions`; each of its commands is loaded when it is called."""

from __future__ import annotations

import click

from pi_subagents.surfaces.cli.lazy import LazyGroup

_COMMANDS = {
    "list": ("listing", "List sessions, the newest at the end."),
    "show": ("show", "Show a session's whole transcript, also while it runs."),
    "output": ("output", "Print a session's final text and nothing else."),
    "resume": ("resume", "Go on with a session that is over."),
    "stop": ("stop", "Stop a session that is running."),
    "export": ("export", "Write a session as Markdown or as one HTML page."),
    "delete": ("delete", "Delete sessions."),
    "clean": ("clean", "Delete old sessions."),
    "reindex": ("reindex", "Rebuild the index of all sessions from the disk."),
}


@click.group(cls=LazyGroup, package=__package__, table=_COMMANDS)
def sessions() -> None:
    """List, read, resume, stop, export and delete sessions.

    A session is named by the id that 'list' shows, or by any beginning of its own or a run's id that no other has.
    """
