"""The group `sessions`; each of its commands is loaded when it is called."""

from __future__ import annotations

import click

from pi_subagents.surfaces.cli.app import LazyGroup

_COMMANDS = {
    "list": ("listing", "List sessions, newest last."),
    "show": ("show", "Show a session's full transcript, even while it runs."),
    "output": ("output", "Print only a session's final text."),
    "resume": ("resume", "Continue a session that has ended."),
    "stop": ("stop", "Stop a running session."),
    "export": ("export", "Export a session as Markdown or HTML."),
    "delete": ("delete", "Delete sessions."),
    "clean": ("clean", "Delete old sessions."),
    "reindex": ("reindex", "Rebuild the session index from disk."),
}


@click.group(cls=LazyGroup, package=__package__, table=_COMMANDS)
def sessions() -> None:
    """List, read, resume, stop, export and delete sessions.

    SESSION is the id that 'list' shows, or any unique prefix of a session or run id.
    """
