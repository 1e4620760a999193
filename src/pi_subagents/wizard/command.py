"""`/profile …`: what was typed behind it, and what is done about it."""

from __future__ import annotations

from pi_subagents.errors import InvalidCall, PiSubagentsError, ProfileError
from pi_subagents.profiles import ProfileCatalog, UnknownProfile, detail_text, load_profiles, profile_summary
from pi_subagents.wizard.dialogs import CANCELLED, Cancelled, Dialogs
from pi_subagents.wizard.flow import create, delete, edit
from pi_subagents.wizard.host import Host
from pi_subagents.wizard.scopes import require_name
from pi_subagents.wizard.words import ACTIONS, USAGE, Action

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
    names = list(_load(host).profiles)
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
    catalog = _load(host)
    lines = []
    for profile in catalog.profiles.values():
        lines.append(f"{profile_summary(profile)}  [{profile.scope}]")
        lines += [f"  {profile.description}"] if profile.description else []
    await dialogs.notify("\n".join(lines) or NONE_FOUND)
    if problems := [*(f"✗ {problem}" for problem in catalog.broken), *catalog.warnings]:
        await dialogs.notify("\n".join(problems), "warning")


async def _show(name: str, dialogs: Dialogs, host: Host, hint: str) -> None:
    try:
        await dialogs.notify(detail_text(_load(host).resolve(name)))
    except UnknownProfile as error:
        raise InvalidCall(f"{error}{hint}") from None


def _load(host: Host) -> ProfileCatalog:
    return load_profiles(host.place.cwd, host.place.agent_dir)
