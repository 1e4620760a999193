"""`trust`: the user's word that a project's files may do more than describe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from pi_subagents.paths import project_root
from pi_subagents.place import Place
from pi_subagents.profiles import home_of, load_presets, load_profiles, powers_of
from pi_subagents.settings import load_settings
from pi_subagents.surfaces.cli.options import DIRECTORY, refuse_sub_agents
from pi_subagents.surfaces.cli.output import echo, print_json
from pi_subagents.trust import SETTINGS, TRUST_COMMAND, Decisions


@click.command()
@click.argument("directory", required=False, type=DIRECTORY)
@click.option("--revoke", is_flag=True, help="Revoke the trust.")
@click.option("--list", "as_list", is_flag=True, help="List trusted directories.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def trust(directory: Path | None, revoke: bool, as_list: bool, as_json: bool) -> None:
    """Trust the project that DIRECTORY is in (default: this one).

    Until then the settings, profiles and presets of a project may describe and restrict agents, but not run programs,
    load code, name keys, lift limits or delete records. A /trust in pi counts too.
    """
    place = Place.here()
    decisions = Decisions(place.agent_dir)
    if as_list or as_json:
        _list(decisions, as_json=as_json)
        return
    refuse_sub_agents()
    folder = project_root((directory or place.cwd).absolute(), place.agent_dir)
    if revoke:
        was_trusted = decisions.revoke(folder)
        echo(f"{folder} is no longer trusted." if was_trusted else f"{folder} was not trusted.")
        return
    decisions.trust(folder)
    _tell_what_counts(folder, place.agent_dir)


def _tell_what_counts(folder: Path, agent_dir: Path) -> None:
    powers = list(_powers(folder, agent_dir))
    echo(f"{folder} is trusted." + (" These now take effect:" if powers else ""))
    for path, key, power in powers:
        echo(f"  {path.relative_to(folder)}: {key} ({power})")
    if not powers:
        echo("Nothing in it needs trust at the moment.")
    echo(f"hint: undo this with '{TRUST_COMMAND} --revoke'", err=True)


def _powers(folder: Path, agent_dir: Path) -> Iterator[tuple[Path, str, str]]:
    for refused in load_settings(folder, agent_dir, trusted=False).powerless:
        if refused.path.is_relative_to(folder):
            yield from ((refused.path, name, SETTINGS[name] or "") for name in refused.names)
    for load in (load_profiles, load_presets):
        for profile in load(folder, agent_dir).profiles.values():
            if home_of(profile) == folder and profile.path is not None:
                yield from ((profile.path, key, power) for key, power in powers_of(profile).items())


def _list(decisions: Decisions, *, as_json: bool) -> None:
    found = [(decision, decisions.trusts(Path(decision.path))) for decision in decisions.all()]
    if as_json:
        print_json([{**msgspec.to_builtins(decision), "isSame": is_same} for decision, is_same in found])
        return
    for decision, is_same in found:
        echo(decision.path if is_same else f"{decision.path}  (replaced by another directory, so not trusted)")
    if not found:
        echo("No trusted directories.")
