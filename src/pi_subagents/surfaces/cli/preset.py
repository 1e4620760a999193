"""`preset`: which presets there are, what each says, and the beginning of a new one. Keys are masked."""

from __future__ import annotations

import click

from pi_subagents.place import Place
from pi_subagents.profiles import Scope, create_preset, load_presets
from pi_subagents.surfaces.cli.catalogs import complete_preset, load_here, print_catalog, print_detail
from pi_subagents.surfaces.cli.output import echo

_NONE_FOUND = (
    "No presets found. Add .md files to ~/.pi/agent/subagents/ or .pi/subagents/, "
    "or run: pi-subagents preset new NAME, or: pi-subagents init --presets"
)

_STARTER = """\
---
name: {name}
# What this agent is for; people and models choose presets by this line.
description: Say in one line what {name} is for

# The model; a call can override it. Without this line the command line uses pi's default, and agents must pass
# one in every call. `pi-subagents models` lists them.
# model: provider/id

# The only tools the agent may use; without this line it gets pi's defaults.
# tools: read,grep,find,ls

# off, minimal, low, medium, high or xhigh
# thinkingLevel: medium

# Time limit in seconds; without this line 600, and none in the background.
# timeout: 600
---

Describe how {name} should work. This text is added to the agent's system prompt.
"""


@click.group()
def preset() -> None:
    """List, show and create presets: agent configurations for the tools subagent and background_agent."""


@preset.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_presets(as_json: bool) -> None:
    """List all presets with their descriptions; broken files are reported with file and line."""
    print_catalog(load_here(load_presets), as_json=as_json, if_none=_NONE_FOUND)


@preset.command("show")
@click.argument("name", shell_complete=complete_preset)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_preset(name: str, as_json: bool) -> None:
    """Show a preset in full."""
    print_detail(load_here(load_presets).resolve(name), as_json=as_json)


@preset.command("new")
@click.argument("name")
@click.option("--global", "is_global", is_flag=True, help="Write it for all your projects, not just this one.")
def new_preset(name: str, is_global: bool) -> None:
    """Create a preset from a commented template and print its path."""
    place = Place.here()
    scope: Scope = "global" if is_global else "project"
    echo(create_preset(name, _STARTER.format(name=name), scope, cwd=place.cwd, agent_dir=place.agent_dir))
