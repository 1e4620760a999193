"""`install` and `uninstall`: makes other programs use pi-subagents, and undoes that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pi_subagents import __version__
from pi_subagents.errors import AgentNotFound, InvalidCall
from pi_subagents.harness.pi.programs import LIST_MODELS, child_environ, find_pi
from pi_subagents.installing import (
    CLIENTS,
    SERVER_NAME,
    Change,
    Installation,
    Scope,
    find_launch,
    generic_configuration,
    hints,
)
from pi_subagents.installing import install as write_entry
from pi_subagents.installing import uninstall as remove_entry
from pi_subagents.place import Place
from pi_subagents.processes.bytecode import keep_compiled
from pi_subagents.processes.query import ask
from pi_subagents.surfaces.cli.options import json_option
from pi_subagents.surfaces.cli.output import echo, echo_text, print_json
from pi_subagents.text.wording import did_you_mean

if TYPE_CHECKING:
    from pi_subagents.installing.pi_extension import FolderChange

_WARM_UP_S = 30.0
_NAMES = ", ".join(CLIENTS)
_SENTENCES = {
    "created": "wrote {path}, with {server} as its only server",
    "added": "added {server} to {path}",
    "updated": "updated {server} in {path}",
    "unchanged": "{server} is already in {path}; nothing to do",
    "deleted": "deleted {path}, which contained only {server}",
    "restored": "restored {path} to what it was before {server} was added",
    "removed": "removed {server} from {path}",
    "absent": "{server} is not in {path}; nothing to do",
}
_FOLDER_SENTENCES = {
    "created": "wrote the extension to {folder}",
    "updated": "updated the extension in {folder}",
    "unchanged": "the extension in {folder} is already up to date",
    "deleted": "deleted the extension in {folder}",
    "absent": "no extension in {folder}; nothing to do",
}

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _complete_client(_ctx: click.Context, _param: click.Parameter, start: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name, help=client.title) for name, client in CLIENTS.items() if name.startswith(start)]


def _require_known(_ctx: click.Context, _param: click.Parameter, client: str | None) -> str | None:
    if client is not None and client not in CLIENTS:
        hint = did_you_mean(client, CLIENTS) or f" Choose one of {_NAMES}."
        raise click.BadParameter(f'Unknown client "{client}".{hint}')
    return client


def _client_options(command: _Command) -> _Command:
    """The options that say whose file is meant, and how to tell of it."""
    client = click.option(
        "--client", metavar="NAME", help=f"One of {_NAMES}.", callback=_require_known, shell_complete=_complete_client
    )
    scope = click.option(
        "--scope",
        type=click.Choice(["user", "project"]),
        default="user",
        show_default=True,
        help="For you in all projects, or for everyone in this one.",
    )
    dry_run = click.option("--dry-run", is_flag=True, help="Show the change without writing it.")
    return client(scope(dry_run(json_option(command))))


def _extension_options(command: _Command) -> _Command:
    """The options that say for whom pi gets the extension, and how to tell of it."""
    project = click.option("--project", is_flag=True, help="In this project's .pi, for everyone who works on it.")
    dry_run = click.option("--dry-run", is_flag=True, help="Show what would change without writing it.")
    return project(dry_run(json_option(command)))


@click.group()
def install() -> None:
    """Add pi-subagents to other programs; `uninstall` removes it."""


@install.command("mcp")
@_client_options
def install_mcp(client: str | None, scope: Scope, dry_run: bool, as_json: bool) -> None:
    """Add the pi-subagents MCP server to a client's configuration.

    The rest of the file is left untouched, and a backup (.bak) is written next to it first. Without --client, print
    the lines to add by hand, for clients that are not listed.
    """
    if client is None:
        _print_generic(as_json=as_json)
        return
    installation = installation_for(client, scope)
    change = write_entry(installation, dry_run=dry_run)
    if not dry_run:
        keep_compiled()
    _print_change(change, installation, dry_run=dry_run, as_json=as_json)
    if not as_json and not dry_run and change.is_needed:
        print_hints(change, installation)


@install.command("pi")
@_extension_options
def install_extension(project: bool, dry_run: bool, as_json: bool) -> None:
    """Add the tools to `pi` itself, as an extension: for you in all projects, or with --project in this one.

    It also adds the commands /profile and /subagents. Type /reload in a running pi to load it.
    """
    from pi_subagents.installing import pi_extension

    place = Place.here()
    change = pi_extension.install(place, "project" if project else "user", __version__, dry_run=dry_run)
    problem = "" if dry_run else warm_up(place)
    if not dry_run:
        keep_compiled()
    _print_folder(change, dry_run=dry_run, as_json=as_json)
    if problem:
        echo(f"warning: {problem}", err=True)
    if project and not as_json and not dry_run and change.is_needed:
        echo("hint: everyone who works on the project needs pi-subagents on their PATH", err=True)
        echo(f"hint: pi loads it when you start pi in {place.project} and have trusted that directory", err=True)


def installation_for(client: str | None, scope: Scope) -> Installation:
    """What is meant, here and now; raises InvalidCall if nobody said which client."""
    if client is None:
        raise InvalidCall(f"Choose a client: --client with one of {_NAMES}.")
    place = Place.here()
    return Installation(CLIENTS[client], scope, place, find_launch(place.environ))


def _print_change(change: Change, installation: Installation, *, dry_run: bool, as_json: bool) -> None:
    """Say what became of the file, or what would."""
    if as_json:
        print_json(_as_data(change, installation, dry_run=dry_run))
    elif dry_run and change.is_needed:
        echo(f"would change {change.path}:")
        echo_text(f"\n{change.diff()}", nl=False)
    else:
        echo(_SENTENCES[change.status].format(path=change.path, server=SERVER_NAME))


def print_hints(change: Change, installation: Installation) -> None:
    """Say where the file as it was is, and what is left for people to do."""
    if change.backup is not None:
        echo(f"backup: {change.backup}")
    for hint in hints(installation):
        echo(f"hint: {hint}", err=True)


def _as_data(change: Change, installation: Installation, *, dry_run: bool) -> dict[str, Any]:
    return {
        "client": installation.client.name,
        "scope": installation.scope,
        "path": str(change.path),
        "status": change.status,
        "changed": change.is_needed and not dry_run,
        "backup": str(change.backup) if change.backup is not None else None,
        "server": {SERVER_NAME: installation.entry},
        "diff": change.diff(),
        "dryRun": dry_run,
    }


def _print_generic(*, as_json: bool) -> None:
    configuration = generic_configuration(find_launch(Place.here().environ))
    if as_json:
        print_json({"clients": list(CLIENTS), "snippet": configuration})
    else:
        echo("Most MCP clients accept these lines in their configuration:", err=True)
        print_json(configuration)
        echo(f"hint: --client NAME writes the file for you: {_NAMES}", err=True)


@click.group()
def uninstall() -> None:
    """Remove pi-subagents from other programs."""


@uninstall.command("mcp")
@_client_options
def uninstall_mcp(client: str | None, scope: Scope, dry_run: bool, as_json: bool) -> None:
    """Remove the pi-subagents MCP server from a client's configuration.

    If the file has not changed since `install`, it is restored byte for byte, or deleted if `install` created it.
    Otherwise only that server is removed.
    """
    installation = installation_for(client, scope)
    _print_change(remove_entry(installation, dry_run=dry_run), installation, dry_run=dry_run, as_json=as_json)


@uninstall.command("pi")
@_extension_options
def uninstall_extension(project: bool, dry_run: bool, as_json: bool) -> None:
    """Remove the extension from `pi`; records of runs, profiles and settings are kept."""
    from pi_subagents.installing import pi_extension

    change = pi_extension.uninstall(Place.here(), "project" if project else "user", dry_run=dry_run)
    _print_folder(change, dry_run=dry_run, as_json=as_json)


def warm_up(place: Place) -> str:
    """Let pi load the extension once, for what it keeps compiled; what it says if it cannot, else nothing."""
    try:
        program = find_pi(place.settings().pi_command, place.environ)
    except AgentNotFound as error:
        return str(error)
    quiet = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}
    environ = {**child_environ(place.environ, place.agent_dir), **quiet}
    answer = ask([*program.argv, LIST_MODELS], environ=environ, timeout_s=_WARM_UP_S, cwd=place.cwd)
    if answer.ok:
        return ""
    lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
    why = next((line for line in lines if "extension" in line.lower()), lines[-1] if lines else "no answer")
    return f"pi fails to start with it: {why} (to undo: pi-subagents uninstall pi)"


def _print_folder(change: FolderChange, *, dry_run: bool, as_json: bool) -> None:
    """Say what became of the folder, or what would."""
    if as_json:
        print_json(
            {
                "path": str(change.folder),
                "scope": change.scope,
                "status": change.status,
                "changed": change.is_needed and not dry_run,
                "files": [{"path": str(each.path), "status": each.status} for each in change.changes if each.is_needed],
                "dryRun": dry_run,
            }
        )
    elif dry_run and change.is_needed:
        echo(f"would change {change.folder}:")
        for each in change.changes:
            if each.is_needed:
                echo(f"  {each.path.name}: {each.status}")
    else:
        echo(_FOLDER_SENTENCES[change.status].format(folder=change.folder))
