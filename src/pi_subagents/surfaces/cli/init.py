"""`init`: copies examples of presets, prompt templates and profiles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from pi_subagents.examples import EXAMPLE_AGENTS, EXAMPLE_PRESETS, EXAMPLE_PROMPTS
from pi_subagents.harness import DEFAULT_AGENT
from pi_subagents.harness.programs import installed_agents
from pi_subagents.place import Place
from pi_subagents.profiles import (
    PRESET,
    PROFILE,
    Scope,
    find_profile_file,
    presets_dir,
    profiles_dir,
    require_writable,
    write_new_file,
)
from pi_subagents.surfaces.cli.options import model_option
from pi_subagents.surfaces.cli.output import echo

_MODEL_LINE = "# model: provider/id"


@click.command()
@click.option("--presets", is_flag=True, help="Copy only the presets.")
@click.option("--prompts", is_flag=True, help="Copy only the prompt templates.")
@click.option("--agents", is_flag=True, help="Copy only example profiles, one for each installed agent other than pi.")
@click.option("--global", "is_global", is_flag=True, help="Write them for all your projects, not just this one.")
@model_option("Use this model in all presets; see 'pi-subagents models'.")
def init(presets: bool, prompts: bool, agents: bool, is_global: bool, model: str | None) -> None:
    """Copy example presets and prompt templates into this project, for you to use and edit.

    Presets go to .pi/subagents/, prompt templates to .pi/prompts/. With --agents, a profile for each installed agent,
    such as Claude Code or Codex, goes to .pi/agent-profiles/. Existing files are kept.
    """
    place = Place.here()
    scope: Scope = "global" if is_global else "project"
    if not (presets or prompts or agents):
        presets = prompts = True
    copies: dict[Path, str] = {}
    if presets:
        copies |= _preset_copies(presets_dir(scope, place.cwd, place.agent_dir), _model_line(model, place))
    if prompts:
        base = place.agent_dir if is_global else place.project / ".pi"
        copies |= {base / "prompts" / example.name: _text(example) for example in sorted(EXAMPLE_PROMPTS.glob("*.md"))}
    profiles = _agent_copies(profiles_dir(scope, place.cwd, place.agent_dir), place) if agents else {}
    copies |= profiles
    for path in copies:
        require_writable(path, scope)  # all of them, before the first is written
    for path, text in copies.items():
        is_new = write_new_file(path, text, scope)
        echo(f"wrote {path}" if is_new else f"kept  {path} (already exists)")
    if agents and not profiles:
        echo("hint: no agent other than pi is installed; to install one: pi-subagents install-agent claude", err=True)
    for hint in _hints(is_global, presets=presets and model is None, prompts=prompts, profiles=bool(profiles)):
        echo(f"hint: {hint}", err=True)


def _model_line(model: str | None, place: Place) -> str:
    if model is None:
        return _MODEL_LINE
    from pi_subagents.delegation.offered_models import OfferedModels

    checked = OfferedModels(place, place.settings()).check(model)
    if checked.warning:
        echo(f"warning: {checked.warning}", err=True)
    return f"model: {checked.name}"


def _preset_copies(directory: Path, model_line: str) -> dict[Path, str]:
    # The name of a preset is in its file, whatever the file is called.
    return {
        find_profile_file(example.stem, directory, PRESET) or directory / example.name: _text(example).replace(
            _MODEL_LINE, model_line
        )
        for example in sorted(EXAMPLE_PRESETS.glob("*.md"))
    }


def _agent_copies(directory: Path, place: Place) -> dict[Path, str]:
    others = (agent for agent in installed_agents(place.environ) if agent != DEFAULT_AGENT)
    examples = (EXAMPLE_AGENTS / f"{agent}.md" for agent in others)
    return {
        find_profile_file(example.stem, directory, PROFILE) or directory / example.name: _text(example)
        for example in examples
        if example.is_file()
    }


def _text(example: Path) -> str:
    return example.read_text(encoding="utf-8")


def _hints(is_global: bool, *, presets: bool, prompts: bool, profiles: bool) -> Iterator[str]:
    if presets:
        yield "the presets have no model yet: the command line uses pi's default, agents that call them must pass one"
        yield f"to set one, edit the line `{_MODEL_LINE}` in the preset; 'pi-subagents models' lists the choices"
    if prompts and not is_global:
        from pi_subagents.harness.pi.programs import TRUST_HERE

        yield f"pi offers a project's prompt templates once you trust the project: {TRUST_HERE}"
    if profiles and not is_global:
        yield "profiles that name another agent work only in a project that you trust: pi-subagents trust"
