"""`/profile …`: what was typed behind it, what is done about it, and what can complete it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pi_subagents.errors import InvalidCall, PiSubagentsError, ProfileError
from pi_subagents.place import Place
from pi_subagents.profiles import ProfileCatalog, UnknownProfile, detail_text, load_profiles, profile_summary
from pi_subagents.wizard.flow import create, delete, edit, require_name
from pi_subagents.wizard.questions import CANCELLED, Cancelled, Dialogs
from pi_subagents.wizard.steps import Host

Action = Literal["list", "show", "create", "edit", "delete"]

MEANINGS: dict[Action, str] = {
    "list": "List all profiles",
    "show": "Show a profile in full",
    "create": "Create a profile, step by step",
    "edit": "Change a profile, step by step",
    "delete": "Delete a profile",
}

ACTIONS: dict[str, Action] = {action: action for action in MEANINGS} | {
    "ls": "list",
    "new": "create",
    "rm": "delete",
    "remove": "delete",
}

USAGE = "Usage: /profile list | show <name> | create <name> | edit <name> | delete <name>"
NONE_FOUND = "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/."


async def profile_command(arguments: str, dialogs: Dialogs, host: Host) -> None:
    """Do what was asked for; what goes wrong is told to the person and never raised."""
    try:
        await _obey(arguments.split(), dialogs, host)
    except Cancelled:
        await dialogs.notify(CANCELLED)
    except PiSubagentsError as error:
        await dialogs.notify(str(error), "error")


async def _obey(words: list[str], dialogs: Dialogs, host: Host) -> None:
    action = ACTIONS.get(words[0]) if words else "list"
    if action is None:  # the bare name of a profile
        action, words = "show", ["", *words]
    names = words[1:]
    if len(names) > (0 if action == "list" else 1):
        raise InvalidCall(USAGE)
    if action == "list":
        await _list(dialogs, host)
        return
    name = names[0] if names else await choose_name(action, dialogs, host)
    if action == "show":
        await _show(name, dialogs, host, hint="" if words[0] else f"\n{USAGE}")
    else:
        await {"create": create, "edit": edit, "delete": delete}[action](name, dialogs, host)


async def choose_name(action: Action, dialogs: Dialogs, host: Host) -> str:
    """The profile that somebody means who did not say; raises Cancelled, or InvalidCall if there is none."""
    if action == "create":
        return await _ask_new_name(dialogs)
    names = list(_load(host.place).profiles)
    if not names:
        raise InvalidCall(NONE_FOUND)
    name = await dialogs.select(f"Which profile do you want to {action}?", names)
    if not name:
        raise Cancelled
    return name


async def _ask_new_name(dialogs: Dialogs) -> str:
    title = question = "Name of the new profile"
    while name := (await dialogs.input(title, "reviewer", enter="leaves") or "").strip():
        try:
            require_name(name)
        except ProfileError as error:
            title = f"{error}\n{question}"
        else:
            return name
    raise Cancelled


async def _list(dialogs: Dialogs, host: Host) -> None:
    catalog = _load(host.place)
    lines = []
    for profile in catalog.profiles.values():
        lines.append(f"{profile_summary(profile)}  [{profile.scope}]")
        lines += [f"  {profile.description}"] if profile.description else []
    await dialogs.notify("\n".join(lines) or NONE_FOUND)
    if problems := [*(f"✗ {problem}" for problem in catalog.broken), *catalog.warnings]:
        await dialogs.notify("\n".join(problems), "warning")


async def _show(name: str, dialogs: Dialogs, host: Host, hint: str) -> None:
    try:
        await dialogs.notify(detail_text(_load(host.place).resolve(name)))
    except UnknownProfile as error:
        raise InvalidCall(f"{error}{hint}") from None


@dataclass(frozen=True)
class Completion:
    """`value` is all that stands behind `/profile` then; the other two are shown."""

    value: str
    label: str
    description: str


def completions(prefix: str, place: Place) -> list[Completion]:
    """All that begins with what has been typed so far."""
    catalog = _load(place)
    word, space, start = prefix.lstrip().partition(" ")
    if not space:
        return [*_actions(word), *_names(catalog, "show", word)]
    action = ACTIONS.get(word)
    if action in (None, "list", "create"):
        return []
    named = _names(catalog, action, start.lstrip())
    return [Completion(f"{word} {found.value}", found.label, found.description) for found in named]


def _actions(start: str) -> Iterator[Completion]:
    for action, meaning in MEANINGS.items():
        if action.startswith(start):
            yield Completion(action if action == "list" else f"{action} ", action, meaning)


def _names(catalog: ProfileCatalog, action: Action, start: str) -> Iterator[Completion]:
    known = {name: profile_summary(profile) for name, profile in catalog.profiles.items()}
    if action == "delete":  # which is a way to be rid of a broken file
        known = {problem.name_guess: str(problem) for problem in catalog.broken} | known
    for name, description in known.items():
        if name.startswith(start):
            yield Completion(name, name, description)


def _load(place: Place) -> ProfileCatalog:
    return load_profiles(place.cwd, place.agent_dir)
