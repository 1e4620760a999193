"""`install-pi`: brings the agent program under the data directory."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from pi_subagents.errors import InstallError
from pi_subagents.harness import Program
from pi_subagents.harness.pi.programs import find_pi
from pi_subagents.paths import data_dir
from pi_subagents.place import Place
from pi_subagents.processes import install
from pi_subagents.surfaces.cli.output import echo, steps_of
from pi_subagents.text.steps import Steps

_DETAIL_LINES = 15


@click.command("install-pi")
@click.option(
    "--version",
    default=install.PINNED_PI_VERSION,
    show_default=True,
    metavar="V",
    help="A version of pi, or a tag such as latest.",
)
def install_pi(version: str) -> None:
    """Install the pi coding agent, with Node and ripgrep if this machine has no suitable ones.

    Everything goes into one directory that you own; the system is not changed, and you do not need root.
    """
    place = Place.here()
    installation = bring_pi(version, steps_of("install-pi"), data_dir(place.environ))
    _say_how_it_is_found(find_pi(place.settings().pi_command, place.environ), installation.launcher)


def bring_pi(version: str, steps: Steps, data: Path) -> install.Installation:
    """Bring that version of pi; where that fails, with the end of what npm or pip said. Raises InstallError."""
    with with_details():
        return install.install_pi(version, steps=steps, data=data)


@contextmanager
def with_details() -> Iterator[None]:
    """Print the end of npm's or pip's output before an InstallError is raised further."""
    try:
        yield
    except InstallError as error:
        # Before the sentence itself, which comes last, where it is seen.
        for note in getattr(error, "__notes__", []):
            for line in note.strip().splitlines()[-_DETAIL_LINES:]:
                echo(f"  {line}", err=True)
        raise


def _say(line: str) -> None:
    echo(f"install-pi: {line}", err=True)


def _say_how_it_is_found(program: Program, launcher: Path) -> None:
    echo(launcher)
    if program.argv == (str(launcher),):
        _say("sub-agents use it from now on; you need not add it to your PATH")
        return
    _say(f"sub-agents still use {program.argv[0]}, which takes precedence ({program.found_in})")
    if program.found_in == "PATH":
        _say(f"to use this one instead: export PI_SUBAGENTS_PI={shlex.quote(str(launcher))}")
