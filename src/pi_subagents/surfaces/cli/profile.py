"""`profile`: which profiles there are, what each says, and the wizard that makes and changes them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Literal

import click
import msgspec

from pi_subagents.delegation.configuration import why_no_agent_can
from pi_subagents.errors import InvalidCall, PiSubagentsError
from pi_subagents.harness import DEFAULT_AGENT
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.models import Profile, Secret
from pi_subagents.place import Place
from pi_subagents.profiles import (
    Scope,
    UnknownModel,
    delete_profile,
    find_pattern,
    load_profiles,
    read_profile,
    save_profile,
)
from pi_subagents.surfaces.cli.agents import add_list_and_show
from pi_subagents.surfaces.cli.dialogs import HINT, TerminalDialogs, ask_hidden
from pi_subagents.surfaces.cli.options import Decorator, agent_option, complete_model, complete_profile
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.wizard import (
    CANCELLED,
    NONE_FOUND,
    Action,
    Cancelled,
    Host,
    choose_name,
    files_of,
    require_free,
    require_one,
)
from pi_subagents.wizard import create as create_with
from pi_subagents.wizard import delete as delete_with
from pi_subagents.wizard import edit as edit_with

_existing_name = click.argument("name", required=False, shell_complete=complete_profile)
_api_key = click.option(
    "--api-key", "with_key", is_flag=True, help="Also ask for an API key, which is not shown as you type."
)
_description = click.option("--description", metavar="TEXT", help="What the agent is for, in one line.")


def _scope(meaning: str) -> Decorator:
    return click.option("--scope", type=click.Choice(["global", "project"]), help=meaning)


@click.group()
def profile() -> None:
    """List, show, create, edit and delete profiles: named agent configurations in Markdown files."""


add_list_and_show(profile, load_profiles, complete_profile, said=", one per line", if_none=NONE_FOUND)


@profile.command("create")
@click.argument("name", required=False)
@_scope("Where to save it (default: ask).")
@_api_key
@_description
@click.option(
    "--model", metavar="MODEL", shell_complete=complete_model, help="Ask nothing; create a profile with this model."
)
@agent_option("Ask nothing; create a profile for this agent: pi, claude, codex, …")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="Ask nothing; create a copy of this profile file.",
)
def create_profile(
    name: str | None,
    scope: Scope | None,
    with_key: bool,
    description: str | None,
    model: str | None,
    programs: tuple[str, ...],
    source: Path | None,
) -> None:
    """Create a profile step by step; nothing is written until you have reviewed it.

    With --model, --agent or --from it asks nothing and, without --scope, saves the profile in the project.
    """
    if model or programs or source:
        agent = next(iter(programs), None)
        _write_new(name, scope or "project", source, model=model, agent=agent, description=description)
        return
    _require_terminal("create", "in a script, use --model, --agent or --from")
    _converse(_write("create", name, scope, with_key, description))


@profile.command("edit")
@_existing_name
@_scope("Which one to edit, if both scopes have it; if this scope has none, edit a copy there.")
@_api_key
@_description
def edit_profile(name: str | None, scope: Scope | None, with_key: bool, description: str | None) -> None:
    """Edit a profile step by step; comments and whatever you skip are kept."""
    _require_terminal("edit", "in a script, edit the file")
    _converse(_write("edit", name, scope, with_key, description))


@profile.command("delete")
@_existing_name
@_scope("Which one to delete, if both scopes have it (default: ask).")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete_command(name: str | None, scope: Scope | None, yes: bool) -> None:
    """Delete a profile."""
    if not yes:
        _require_terminal("delete", "in a script, use --yes")
        _converse(_delete(name, scope))
        return
    if name is None:
        raise click.UsageError("--yes needs the NAME of a profile.")
    place = Place.here()
    which = require_one(name, files_of(name, place), scope)
    echo(f"deleted {delete_profile(name, which, cwd=place.cwd, agent_dir=place.agent_dir)}")


async def _write(
    action: Literal["create", "edit"], name: str | None, scope: Scope | None, with_key: bool, description: str | None
) -> None:
    dialogs, host = TerminalDialogs(), _host()
    echo(HINT, err=True)
    name = name or await choose_name(action, dialogs, host)
    write = create_with if action == "create" else edit_with
    await write(name, dialogs, host, scope=scope, api_key=_ask_key(with_key), description=description)
    if action == "create":
        echo(f'Try it: pi-subagents run -p {name} "What can you do?"', err=True)


async def _delete(name: str | None, scope: Scope | None) -> None:
    dialogs, host = TerminalDialogs(), Host(Place.here())
    name = name or await choose_name("delete", dialogs, host)
    await delete_with(name, dialogs, host, scope=scope)


def _ask_key(with_key: bool) -> Secret | None:
    typed = ask_hidden("API key, not shown (Enter skips)") if with_key else ""
    return Secret(typed) if typed else None


def _write_new(
    name: str | None,
    scope: Scope,
    source: Path | None,
    *,
    model: str | None,
    agent: str | None,
    description: str | None,
) -> None:
    if name is None and source is None:
        raise click.UsageError(f"--{'model' if model else 'agent'} needs the NAME of the new profile.")
    base = read_profile(source)[0] if source else Profile(name=name or "")
    said = {"name": name, "model": model, "agent": agent, "description": description}
    made = msgspec.structs.replace(base, **{key: value for key, value in said.items() if value}, path=None)
    place = Place.here()
    require_free(made.name, scope, place)
    if model and made.agent in (None, DEFAULT_AGENT):
        _warn_of_model(model)
    if why := why_no_agent_can(made):
        echo(f"warning: {why}. Saved anyway.", err=True)
    echo(f"wrote {save_profile(made, scope, cwd=place.cwd, agent_dir=place.agent_dir, like=source)}")


def _warn_of_model(model: str) -> None:
    """Nobody is asked here, so a model that pi does not offer is saved; but it is said."""
    try:
        if offered := _models(Place.here()):
            find_pattern(model, offered)
    except UnknownModel as error:
        echo(f"warning: {error}. Saved anyway.", err=True)


def _models(place: Place) -> tuple[str, ...]:
    from pi_subagents.delegation.offered_models import OfferedModels

    try:
        return OfferedModels(place, place.settings()).names()
    except PiSubagentsError:  # no pi yet, or none that answers: anything may be typed then
        return ()


def _host() -> Host:
    from pi_subagents.skills import discover_skills

    place = Place.here()
    skills = tuple(discover_skills(place.cwd, place.agent_dir))
    return Host(place, models=_models(place), tools=BUILTIN_TOOLS, skills=skills)


def _require_terminal(action: Action, instead: str) -> None:
    if not sys.stdin.isatty():
        raise InvalidCall(f"profile {action} asks questions and needs a terminal; {instead}")


def _converse(talk: Coroutine[Any, Any, None]) -> None:
    # Not asyncio.run: it would keep Ctrl+C from the prompt that is waiting for a line.
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(talk)
    except (Cancelled, KeyboardInterrupt):
        echo(err=True)
        echo(CANCELLED, err=True)
        sys.exit(1)
    finally:
        loop.close()
