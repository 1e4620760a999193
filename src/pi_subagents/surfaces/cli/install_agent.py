"""`install-agent`: installs an agent other than `pi` into the data directory, or lists those it can install."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from pi_subagents.errors import AgentNotFound, InvalidCall
from pi_subagents.harness import DEFAULT_AGENT, Program
from pi_subagents.harness.programs import PACKAGES, find_agent_program, how_to_log_in, variable_of
from pi_subagents.paths import data_dir
from pi_subagents.place import Place
from pi_subagents.surfaces.cli.output import echo, steps_of
from pi_subagents.text.wording import did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_NAMES = (DEFAULT_AGENT, *PACKAGES)


def _complete_name(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in _NAMES if name.startswith(start)]


@click.command("install-agent")
@click.argument("name", required=False, shell_complete=_complete_name)
@click.argument("version", required=False)
@click.pass_context
def install_agent(context: click.Context, name: str | None, version: str | None) -> None:
    """Install another agent, such as Claude Code, for sub-agents to use; without NAME, list the choices.

    VERSION is a version on npm or a tag such as latest (default: the tested version). Everything goes into one
    directory that you own; the system is not changed, and you do not need root.
    """
    if version in _NAMES:
        raise click.UsageError(f'"{version}" is an agent, not a version; install one at a time')
    if name is None:
        _list_agents()
    elif name == DEFAULT_AGENT:
        from pi_subagents.surfaces.cli.install_pi import install_pi

        context.invoke(install_pi, **({"version": version} if version else {}))
    elif name in PACKAGES:
        _install(name, version)
    else:
        hint = did_you_mean(name, _NAMES)
        raise InvalidCall(f'Unknown agent: "{name}".{hint}', advice=f"install-agent knows {', '.join(_NAMES)}")


def _list_agents() -> None:
    from pi_subagents.processes.install import PI_PACKAGE, PINNED_PI_VERSION

    packages = {DEFAULT_AGENT: (PINNED_PI_VERSION, PI_PACKAGE)}
    packages |= {name: (package.tested, package.npm) for name, package in PACKAGES.items()}
    for name, (version, npm) in packages.items():
        echo(f"{name:<10}{version:<10}{npm}")
    echo("hint: to install one: pi-subagents install-agent NAME", err=True)
    echo("hint: to see which are installed, and what each can do: pi-subagents agents --programs", err=True)


def _install(name: str, version: str | None) -> None:
    from pi_subagents.processes.install_agent import install_agent as bring
    from pi_subagents.surfaces.cli.install_pi import with_details

    place = Place.here()
    with with_details():
        installed = bring(name, version, steps=steps_of("install-agent"), data=data_dir(place.environ))
    echo(installed.program)
    try:
        used = find_agent_program(name, place.environ)
    except AgentNotFound as error:  # what a variable names goes before what was installed
        _say(str(error))
        return
    if used.argv == (str(installed.program),):
        _say(f'to use it: pi-subagents run --agent {name} "…", or `agent: {name}` in a profile')
    else:
        _say(f"sub-agents still use {used.argv[0]}, which takes precedence ({used.found_in})")
        if used.found_in == "PATH":
            program = shlex.quote(str(installed.program))
            _say(f"to use this one instead: export {variable_of(name)}={program}")
    _say_how_to_log_in(name, used, place)


def _say_how_to_log_in(name: str, program: Program, place: Place) -> None:
    from pi_subagents.harness import harness_named
    from pi_subagents.harness.agent import Agent

    harness = harness_named(name)
    if isinstance(harness, Agent) and harness.log_in and harness.credentials(place) is None:
        _say(f"to log in: {how_to_log_in(program, name, harness.log_in)}")


def _say(line: str) -> None:
    echo(f"install-agent: {line}", err=True)
