"""`sessions reindex`."""

from __future__ import annotations

from pathlib import Path

import click

from pi_subagents.place import Place
from pi_subagents.runs.listing import rebuild_index
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.text import counted


@click.command()
def reindex() -> None:
    """Rebuild the index of all sessions from the run directories of every project that ever had one.

    The index only makes look-ups quick: nothing is lost with it, and runs go on meanwhile. Lost runs are closed on the
    way. Exit code 0 if it was rebuilt.
    """
    projects: list[Path] = []

    def report(project: Path, count: int) -> None:
        projects.append(project)
        echo(f"{project}: {counted(count, 'run')}", err=True)

    total = rebuild_index(Place.here(), report)
    echo(f"The index has {counted(total, 'run')} of {counted(len(projects), 'project')}.")
