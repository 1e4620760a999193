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
    """Rebuild the session index from the run directories of every known project.

    The index only speeds up lookups: losing it loses nothing, and runs continue meanwhile. Lost runs are closed along
    the way. Exit code 0 if it was rebuilt.
    """
    projects: list[Path] = []

    def report(project: Path, count: int) -> None:
        projects.append(project)
        echo(f"{project}: {counted(count, 'run')}", err=True)

    total = rebuild_index(Place.here(), report)
    echo(f"Indexed {counted(total, 'run')} in {counted(len(projects), 'project')}.")
