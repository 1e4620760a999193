"""`profile`: which profiles there are, and what each says. Keys are masked."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import click
import msgspec

from pi_subagents.planning import Place
from pi_subagents.profiles import ProfileCatalog, load_profiles, profile_detail, profile_summary


@click.group()
def profile() -> None:
    """List and show profiles: named configurations of an agent in Markdown files."""


@profile.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_profiles(as_json: bool) -> None:
    """List all profiles with one line each; broken files are named with file and line."""
    place = Place.here()
    catalog = load_profiles(place.cwd, place.agent_dir)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(_as_json(catalog)), indent=2))
        return
    for name in sorted(catalog.profiles):
        found = catalog.profiles[name]
        click.echo(f"{profile_summary(found)}  [{found.scope}]")
    if not catalog.profiles:
        click.echo("No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/.")
    for problem in catalog.broken:
        click.echo(f"✗ {problem}", err=True)
    for warning in catalog.warnings:
        click.echo(f"warning: {warning}", err=True)


def _as_json(catalog: ProfileCatalog) -> dict[str, Any]:
    return {
        "profiles": [
            {"name": name, "scope": found.scope, "path": str(found.path), "summary": profile_summary(found)}
            for name, found in sorted(catalog.profiles.items())
        ],
        "broken": [
            {"path": str(problem.path), "line": problem.line, "message": problem.message} for problem in catalog.broken
        ],
        "warnings": list(catalog.warnings),
    }


@profile.command("show")
@click.argument("name", shell_complete=lambda _ctx, _param, start: _names(start))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_profile(name: str, as_json: bool) -> None:
    """Show everything a profile says."""
    place = Place.here()
    detail = profile_detail(load_profiles(place.cwd, place.agent_dir).resolve(name))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(detail), indent=2))
        return
    for key, value in detail.items():
        shown = ", ".join(value) if isinstance(value, list) else str(value)
        click.echo(f"{key}:\n{indent(shown, '  ')}" if "\n" in shown else f"{key}: {shown}")


def _names(start: str) -> list[str]:
    place = Place.here()
    return [name for name in load_profiles(place.cwd, place.agent_dir).profiles if name.startswith(start)]
