"""`agents`: everything that can be named where an agent is asked for, profiles and presets alike."""

from __future__ import annotations

import sys
from typing import Any

import click

from pi_subagents.place import Place
from pi_subagents.profiles import PRESET, PROFILE, Agent, all_agents, load_presets, load_profiles, objection_to
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.output import PIPE_CELLS, echo
from pi_subagents.text.harmless import clean, painted

_NONE_FOUND = "No agents yet. Run 'pi-subagents init --presets' for examples, or 'pi-subagents profile create NAME'."


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def agents(as_json: bool) -> None:
    """List all agents: name, kind, scope, model and description. Pass a name to `run -p` or `background start`.

    Broken files are reported on standard error. Exit code 0, even if the list is empty.
    """
    place = Place.here()
    found = all_agents(place.cwd, place.agent_dir)
    if as_json:
        print_json([_as_json(agent, place) for agent in found])
    elif found:
        _print_table(found, place)
    else:
        echo(_NONE_FOUND)
    for load in (load_profiles, load_presets):
        for problem in load(place.cwd, place.agent_dir).broken:
            echo(f"✗ {problem}", err=True)


def _print_table(found: list[Agent], place: Place) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=painted(sys.stdout), width=None if sys.stdout.isatty() else PIPE_CELLS)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("name", "kind", "scope", "model"):
        table.add_column(title, no_wrap=True)
    table.add_column("description")
    for agent in found:
        profile = agent.profile
        cells = (profile.name, agent.kind.word, _scope(agent, place), _model(agent) or "–", profile.description or "")
        table.add_row(*(Text(clean(cell)) for cell in cells))
    console.print(table)
    if twice := sorted({agent.profile.name for agent in found if agent.kind is PRESET} & _names_of_profiles(found)):
        names = ", ".join(f'"{clean(name)}"' for name in twice)
        shared = f"a profile and a preset share a name: {names}"
        echo(f"hint: {shared}; 'run -p' uses the profile, 'background start' the preset", err=True)


def _names_of_profiles(found: list[Agent]) -> set[str]:
    return {agent.profile.name for agent in found if agent.kind is PROFILE}


def _scope(agent: Agent, place: Place) -> str:
    return (
        f"{agent.profile.scope}, not trusted" if objection_to(agent.profile, place.trust) else f"{agent.profile.scope}"
    )


def _model(agent: Agent) -> str | None:
    profile = agent.profile
    if profile.model is None or "/" in profile.model or profile.provider is None:
        return profile.model or profile.provider
    return f"{profile.provider}/{profile.model}"


def _as_json(agent: Agent, place: Place) -> dict[str, Any]:
    profile = agent.profile
    return {
        "name": profile.name,
        "kind": agent.kind.word,
        "scope": profile.scope,
        "model": _model(agent),
        "description": profile.description,
        "path": str(profile.path),
        "objection": objection_to(profile, place.trust),
    }
