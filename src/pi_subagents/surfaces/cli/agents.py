"""`agents`, `models` and `preset`: what can be named where an agent is asked for.

Also how profiles and presets are printed: keys are masked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from pi_subagents.errors import InvalidCall
from pi_subagents.models import Profile
from pi_subagents.place import Place
from pi_subagents.profiles import (
    PRESET,
    PROFILE,
    Agent,
    ProfileCatalog,
    Scope,
    all_agents,
    create_preset,
    detail_text,
    load_presets,
    load_profiles,
    nearest_offered,
    objection_to,
    profile_detail,
    profile_summary,
)
from pi_subagents.surfaces.cli.options import Complete, complete_preset, json_option
from pi_subagents.surfaces.cli.output import echo, echo_text, print_json
from pi_subagents.text.harmless import clean
from pi_subagents.text.wording import closest

_NO_AGENTS = "No agents yet. Run 'pi-subagents init --presets' for examples, or 'pi-subagents profile create NAME'."
_NO_PRESETS = (
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


@click.command()
@click.option("--programs", is_flag=True, help="List the agent programs instead, and what each can do.")
@json_option
def agents(programs: bool, as_json: bool) -> None:
    """List all agents: name, kind, scope, model and description. Pass a name to `run -p` or `background start`.

    With --programs, list pi, Claude Code, Codex and the others instead: which are installed, in which version, whether
    they are logged in, and what each can do. Pass such a name to `run --agent`, or set it as `agent` in a profile.

    Broken files are reported on standard error. Exit code 0, even if the list is empty.
    """
    place = Place.here()
    if programs:
        from pi_subagents.surfaces.cli.programs import print_programs

        print_programs(place, as_json=as_json)
        return
    found = all_agents(place.cwd, place.agent_dir)
    if as_json:
        print_json([_as_json(agent, place) for agent in found])
    elif found:
        _print_table(found, place)
    else:
        echo(_NO_AGENTS)
    for load in (load_profiles, load_presets):
        for problem in load(place.cwd, place.agent_dir).broken:
            echo(f"✗ {problem}", err=True)


def _print_table(found: list[Agent], place: Place) -> None:
    from pi_subagents.surfaces.cli.tables import Column, console_for_output, drawn

    columns: list[Column[Agent]] = [
        Column("name", lambda agent: agent.profile.name),
        Column("kind", lambda agent: agent.kind.word),
        Column("scope", lambda agent: _scope(agent.profile, place)),
        Column("model", lambda agent: _model(agent) or "–"),
        Column("description", lambda agent: agent.profile.description or "", may_wrap=True),
    ]
    console_for_output().print(drawn(columns, found))
    profiles, presets = ({agent.profile.name for agent in found if agent.kind is kind} for kind in (PROFILE, PRESET))
    if twice := sorted(profiles & presets):
        quoted = ", ".join(f'"{clean(name)}"' for name in twice)
        shared = f"a profile and a preset share a name: {quoted}"
        echo(f"hint: {shared}; 'run -p' uses the profile, 'background start' the preset", err=True)


def _scope(profile: Profile, place: Place) -> str:
    return f"{profile.scope}{', not trusted' if objection_to(profile, place.trust) else ''}"


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


@click.command()
@click.argument("search", default="")
@click.option("--json", "as_json", is_flag=True, help="Print {models, default} as JSON.")
def models(search: str, as_json: bool) -> None:
    """List the models that pi offers here, as PROVIDER/ID, for --model and for a profile's model.

    With SEARCH, only those whose name contains it. pi's default is marked. Exit code 1 if there are none.
    """
    from pi_subagents.delegation.offered_models import OfferedModels

    place = Place.here()
    offered = OfferedModels(place, place.settings())
    if offered.problem:
        raise InvalidCall(f"No models: {offered.problem}.")
    found = [name for name in offered.names() if search.lower() in name.lower()]
    default = offered.default()
    if as_json:
        print_json({"models": found, "default": default})
        sys.exit(0 if found else 1)
    if not found:
        raise InvalidCall(f'No model matches "{search}".{_hint(search, offered.names())}')
    for name in found:
        echo(f"{name}  (default)" if name == default else name)


def _hint(search: str, names: Sequence[str]) -> str:
    """What was probably meant: a model, or a word that names of models have in them, such as `sonnet`."""
    words = dict.fromkeys(word for name in names for word in re.split(r"[^a-zA-Z]+", name) if word)
    meant = nearest_offered(search, names) or closest(search, words)
    return f' Did you mean "{meant}"?' if meant else " To list all of them: pi-subagents models"


def add_list_and_show(
    group: click.Group, load: Callable[[Path, Path], ProfileCatalog], complete: Complete, *, said: str, if_none: str
) -> None:
    """Give a group the commands that list what is in a catalog, with a summary of each as `said`, and show one."""

    def load_here() -> ProfileCatalog:
        place = Place.here()
        return load(place.cwd, place.agent_dir)

    @group.command("list", help=f"List all {group.name}s{said}; broken files are reported with file and line.")
    @json_option
    def list_all(as_json: bool) -> None:
        _print_catalog(load_here(), as_json=as_json, if_none=if_none)

    @group.command("show", help=f"Show a {group.name} in full.")
    @click.argument("name", shell_complete=complete)
    @json_option
    def show(name: str, as_json: bool) -> None:
        _print_detail(load_here().resolve(name), as_json=as_json)


def _print_catalog(catalog: ProfileCatalog, *, as_json: bool, if_none: str) -> None:
    """A line for each, or one JSON document; files that cannot be used go to standard error."""
    if as_json:
        print_json(_catalog_as_json(catalog))
        return
    for found in catalog.profiles.values():
        echo(f"{profile_summary(found, catalog.kind)}  [{_scope(found, Place.here())}]")
        if found.description:
            echo(f"  {found.description}")
    if not catalog.profiles:
        echo(if_none)
    for problem in catalog.broken:
        echo(f"✗ {problem}", err=True)
    for warning in catalog.warnings:
        echo(f"warning: {warning}", err=True)


def _catalog_as_json(catalog: ProfileCatalog) -> dict[str, Any]:
    return {
        f"{catalog.kind.word}s": [
            {
                "name": name,
                "description": found.description,
                "scope": found.scope,
                "path": str(found.path),
                "summary": profile_summary(found, catalog.kind),
                "objection": objection_to(found, Place.here().trust),
            }
            for name, found in catalog.profiles.items()
        ],
        "broken": [
            {"path": str(problem.path), "line": problem.line, "message": problem.message} for problem in catalog.broken
        ],
        "warnings": list(catalog.warnings),
    }


def _print_detail(profile: Profile, *, as_json: bool) -> None:
    """Every field that is set, and why the profile cannot be used where it cannot; a key is masked."""
    objection = objection_to(profile, Place.here().trust)
    if as_json:
        print_json({**profile_detail(profile), **({"objection": objection} if objection else {})})
        return
    echo_text(detail_text(profile))
    if objection:
        echo(f"warning: {objection}", err=True)


@click.group()
def preset() -> None:
    """List, show and create presets: agent configurations for the tools subagent and background_agent."""


add_list_and_show(preset, load_presets, complete_preset, said=" with their descriptions", if_none=_NO_PRESETS)


@preset.command("new")
@click.argument("name")
@click.option("--global", "is_global", is_flag=True, help="Write it for all your projects, not just this one.")
def new_preset(name: str, is_global: bool) -> None:
    """Create a preset from a commented template and print its path."""
    place = Place.here()
    scope: Scope = "global" if is_global else "project"
    echo(create_preset(name, _STARTER.format(name=name), scope, cwd=place.cwd, agent_dir=place.agent_dir))
