"""`init`: copies the example presets and prompt templates to where they are in force. It overwrites nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from pi_subagents.delegation.program_facts import OfferedModels
from pi_subagents.examples import EXAMPLE_PRESETS, EXAMPLE_PROMPTS
from pi_subagents.harness.pi.programs import TRUST_HERE
from pi_subagents.place import Place
from pi_subagents.profiles import PRESET, Scope, find_profile_file, presets_dir, require_writable, write_new_file
from pi_subagents.surfaces.cli.catalogs import complete_model
from pi_subagents.surfaces.cli.output import echo

_MODEL_LINE = "# model: provider/id"


@click.command()
@click.option("--presets", is_flag=True, help="Copy only the presets.")
@click.option("--prompts", is_flag=True, help="Copy only the prompt templates.")
@click.option("--global", "is_global", is_flag=True, help="Write them for all your projects, not just this one.")
@click.option(
    "--model",
    metavar="PROVIDER/ID",
    shell_complete=complete_model,
    help="Use this model in all presets; see 'pi-subagents models'.",
)
def init(presets: bool, prompts: bool, is_global: bool, model: str | None) -> None:
    """Copy example presets and prompt templates into this project, for you to use and edit.

    Presets go to .pi/subagents/, prompt templates to .pi/prompts/. Existing files are kept.
    """
    place = Place.here()
    scope: Scope = "global" if is_global else "project"
    both = presets == prompts
    copies: dict[Path, str] = {}
    if presets or both:
        copies |= _preset_copies(presets_dir(scope, place.cwd, place.agent_dir), _model_line(model, place))
    if prompts or both:
        base = place.agent_dir if is_global else place.project / ".pi"
        copies |= {base / "prompts" / example.name: _text(example) for example in sorted(EXAMPLE_PROMPTS.glob("*.md"))}
    for path in copies:
        require_writable(path, scope)  # all of them, before the first is written
    for path, text in copies.items():
        is_new = write_new_file(path, text, scope)
        echo(f"wrote {path}" if is_new else f"kept  {path} (already exists)")
    for hint in _hints(is_global, with_presets=presets or both, with_prompts=prompts or both, model=model):
        echo(f"hint: {hint}", err=True)


def _model_line(model: str | None, place: Place) -> str:
    if model is None:
        return _MODEL_LINE
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


def _text(example: Path) -> str:
    return example.read_text(encoding="utf-8")


def _hints(is_global: bool, *, with_presets: bool, with_prompts: bool, model: str | None) -> Iterator[str]:
    if with_presets and model is None:
        yield "the presets have no model yet: the command line uses pi's default, agents that call them must pass one"
        yield f"to set one, edit the line `{_MODEL_LINE}` in the preset; 'pi-subagents models' lists the choices"
    if with_prompts and not is_global:
        yield f"pi offers a project's prompt templates once you trust the project: {TRUST_HERE}"
