"""`uninstall`: undoes what `install` did to other programs."""

from __future__ import annotations

import click

from pi_subagents.installing import Scope
from pi_subagents.installing import uninstall as remove_entry
from pi_subagents.place import Place
from pi_subagents.surfaces.cli.extension_report import print_folder
from pi_subagents.surfaces.cli.install import client_options, extension_options, installation_for, print_change


@click.group()
def uninstall() -> None:
    """Remove pi-subagents from other programs."""


@uninstall.command("mcp")
@client_options
def uninstall_mcp(client: str | None, scope: Scope, dry_run: bool, as_json: bool) -> None:
    """Remove the pi-subagents MCP server from a client's configuration.

    If the file has not changed since `install`, it is restored byte for byte, or deleted if `install` created it.
    Otherwise only that server is removed.
    """
    installation = installation_for(client, scope)
    print_change(remove_entry(installation, dry_run=dry_run), installation, dry_run=dry_run, as_json=as_json)


@uninstall.command("pi")
@extension_options
def uninstall_extension(project: bool, dry_run: bool, as_json: bool) -> None:
    """Remove the extension from `pi`; records of runs, profiles and settings are kept."""
    from pi_subagents.installing import pi_extension

    change = pi_extension.uninstall(Place.here(), "project" if project else "user", dry_run=dry_run)
    print_folder(change, dry_run=dry_run, as_json=as_json)
