"""Profiles and presets as the command prints them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from pi_subagents.errors import PiSubagentsError
from pi_subagents.models import Profile
from pi_subagents.place import Place
from pi_subagents.profiles import (
    ProfileCatalog,
    detail_text,
    load_presets,
    load_profiles,
    objection_to,
    profile_detail,
    profile_summary,
)
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.output import echo, echo_text
from pi_subagents.text.harmless import clean

_MENU_S = 5.0
"""How long somebody who has pressed Tab is kept waiting for a list of models."""


def print_catalog(catalog: ProfileCatalog, *, as_json: bool, if_none: str) -> None:
    """A line for each, or one JSON document; files that cannot be used go to standard error."""
    if as_json:
        print_json(_as_json(catalog))
        return
    for found in catalog.profiles.values():
        objection = objection_to(found, Place.here().trust)
        echo(f"{profile_summary(found, catalog.kind)}  [{found.scope}{', not trusted' if objection else ''}]")
        if found.description:
            echo(f"  {found.description}")
    if not catalog.profiles:
        echo(if_none)
    for problem in catalog.broken:
        echo(f"✗ {problem}", err=True)
    for warning in catalog.warnings:
        echo(f"warning: {warning}", err=True)


def _as_json(catalog: ProfileCatalog) -> dict[str, Any]:
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


def print_detail(profile: Profile, *, as_json: bool) -> None:
    """Every field that is set, and why the profile cannot be used where it cannot; a key is masked."""
    objection = objection_to(profile, Place.here().trust)
    if as_json:
        print_json({**profile_detail(profile), **({"objection": objection} if objection else {})})
        return
    echo_text(detail_text(profile))
    if objection:
        echo(f"warning: {objection}", err=True)


Load = Callable[..., ProfileCatalog]


def load_here(load: Load) -> ProfileCatalog:
    """What there is at the place where the command was called."""
    place = Place.here()
    return load(place.cwd, place.agent_dir)


def completing(*loads: Load) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """What completes the name of something in these catalogs; shells that can do so show what it is for."""

    def complete(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
        found = {name: profile for load in reversed(loads) for name, profile in load_here(load).profiles.items()}
        return [CompletionItem(name, help=_purpose(found[name])) for name in sorted(found) if name.startswith(start)]

    return complete


def _purpose(profile: Profile) -> str:
    """A few words for a menu: one line, for the shells read it by lines."""
    return clean(profile.description or profile.model or "")


def complete_model(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The models that pi has listed, or lists within the time that somebody waits for a menu."""
    from pi_subagents.delegation.program_facts import OfferedModels

    place = Place.here()
    try:
        names = OfferedModels(place, place.settings(), timeout_s=_MENU_S).names()
    except PiSubagentsError:  # there is no pi yet
        return []
    return [CompletionItem(name) for name in names if name.startswith(start)]


complete_profile = completing(load_profiles)
complete_preset = completing(load_presets)
complete_agent = completing(load_profiles, load_presets)
