"""`sessions reindex`."""

from __future__ import annotations

from pathlib import Path

import click

from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.store import Index
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.text import counted


@click.command()
def reindex() -> None:
    """Rebuild the index of all sessions from the run directories of every project that ever had one.

    The index only makes look-ups quick: nothing is lost with it, and runs go on meanwhile. Lost runs are closed on the
    way. Exit code 0 if it was rebuilt.
    """
    place = Place.here()
    index = Index(place.agent_dir)
    if runs_dir(place.project).is_dir():
        index.record(place.project, [])  # it may have come from another machine, with its runs
    projects: list[Path] = []

    def report(project: Path, count: int) -> None:
        projects.append(project)
        echo(f"{project}: {counted(count, 'run')}", err=True)

    total = index.rebuild(report)
    echo(f"The index has {counted(total, 'run')} of {counted(len(projects), 'project')}.")
