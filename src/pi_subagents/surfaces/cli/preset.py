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
# Tells people, and models that choose among presets, what this agent is for.
description: Say in one line what {name} is for

# The model; a call can name another one. Without this line the command line takes pi's default, and agents must
# name one in every call. `pi-subagents models` lists them.
# model: provider/id

# The only tools the agent may use; without this line it has pi's usual ones.
# tools: read,grep,find,ls

# off, minimal, low, medium, high or xhigh
# thinkingLevel: medium

# Seconds that a run may take; without this line 600, and in the background as long as it likes.
# timeout: 600
---

Say here how {name} works. This text is added to the system prompt of the agent.
"""


@click.group()
def preset() -> None:
    """List, show and begin presets: the configurations that subagent and background_agent name."""


@preset.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_presets(as_json: bool) -> None:
    """List all presets with their descriptions; broken files are named with file and line."""
    print_catalog(load_here(load_presets), as_json=as_json, if_none=_NONE_FOUND)


@preset.command("show")
@click.argument("name", shell_complete=complete_preset)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_preset(name: str, as_json: bool) -> None:
    """Show everything a preset says."""
    print_detail(load_here(load_presets).resolve(name), as_json=as_json)


@preset.command("new")
@click.argument("name")
@click.option("--global", "is_global", is_flag=True, help="For all your projects instead of this one.")
def new_preset(name: str, is_global: bool) -> None:
    """Write the beginning of a preset, with comments on what can be said in it, and print its path."""
    place = Place.here()
    scope: Scope = "global" if is_global else "project"
    echo(create_preset(name, _STARTER.format(name=name), scope, cwd=place.cwd, agent_dir=place.agent_dir))
