"""`bridge`."""

from __future__ import annotations

import sys

import click

from pi_subagents.paths import agent_dir
from pi_subagents.surfaces.cli.process import require_open_streams


@click.command()
def bridge() -> None:
    """Serve the extension that 'pi-subagents install pi' adds to pi, over standard input and output.

    pi starts it with every session, and it ends with the session. Logs go to subagents/bridge.log in the agent
    directory.
    """
    require_open_streams("pi")
    from pi_subagents.surfaces.bridge import serve

    try:
        sys.exit(serve(_log))
    except KeyboardInterrupt:  # nobody had said a word yet
        sys.exit(130)


def _log() -> None:
    from pi_subagents.surfaces.cli.logs import log_to_file_too

    log_to_file_too(agent_dir() / "subagents" / "bridge.log")
