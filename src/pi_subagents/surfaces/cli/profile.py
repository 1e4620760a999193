"""`profile`: which profiles there are, and what each says. Keys are masked."""

from __future__ import annotations

import click

from pi_subagents.profiles import load_profiles
from pi_subagents.surfaces.cli.catalogs import complete, load_here, print_catalog, print_detail

_NONE_FOUND = "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/."


@click.group()
def profile() -> None:
    """List and show profiles: named configurations of an agent in Markdown files."""


@profile.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_profiles(as_json: bool) -> None:
    """List all profiles with one line each; broken files are named with file and line."""
    print_catalog(load_here(load_profiles), as_json=as_json, if_none=_NONE_FOUND)


@profile.command("show")
@click.argument("name", shell_complete=lambda _ctx, _param, start: complete(load_profiles, start))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_profile(name: str, as_json: bool) -> None:
    """Show everything a profile says."""
    print_detail(load_here(load_profiles).resolve(name), as_json=as_json)
