"""Creating, editing and deleting a profile together with a person.

The file is written by the last answer and not before. What is written are the changes alone, to the file as it is by
then, so that nobody's work on it in the meantime is undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile, Secret
from pi_subagents.profiles import (
    Scope,
    check_extra_args,
    check_tools,
    delete_profile,
    detail_text,
    objection_to,
    read_profile,
    save_profile,
)
from pi_subagents.skills import check_skills
from pi_subagents.trust import Trust
from pi_subagents.wizard.dialogs import Cancelled, Dialogs
from pi_subagents.wizard.draft import Draft
from pi_subagents.wizard.host import Host
from pi_subagents.wizard.scopes import SCOPES, ask_scope, files_of, require_free, require_name, require_one
from pi_subagents.wizard.steps import STEPS, step_title

_MAX_REVIEW_LINES = 20
"""Of each prompt: the question below it must stay on the screen."""


async def create(
    name: str, dialogs: Dialogs, host: Host, *, scope: Scope | None = None, api_key: Secret | None = None
) -> None:
    """Ask for everything and write a new profile; raises Cancelled or ProfileError."""
    require_name(name)
    scope = scope or await ask_scope(step_title(1, "Scope"), SCOPES, dialogs, host.place)
    path = require_free(name, scope, host.place)
    draft = Draft(Profile(name=name))
    await _fill(draft, dialogs, host, api_key)
    await _review(draft, scope, path, dialogs, host)
    require_free(name, scope, host.place)
    _save(draft.profile, scope, host)
    await dialogs.notify(f'Saved the profile "{name}": {path}')


async def edit(
    name: str, dialogs: Dialogs, host: Host, *, scope: Scope | None = None, api_key: Secret | None = None
) -> None:
    """Ask for everything again and write what was changed; raises Cancelled or ProfileError.

    In a scope that does not have the profile yet, this makes a copy of the other scope's.
    """
    found = files_of(name, host.place)
    scopes = [*found, *(scope for scope in SCOPES if scope not in found)]
    scope = scope or await ask_scope(step_title(1, "Scope"), scopes, dialogs, host.place)
    is_copy = scope not in found
    source = next(iter(found.values())) if is_copy else found[scope]
    path = require_free(name, scope, host.place) if is_copy else source
    draft = Draft(read_profile(source)[0])
    await _fill(draft, dialogs, host, api_key)
    if is_copy:
        await dialogs.notify(f"This makes a copy for the {scope} scope; {source} stays as it is.")
    await _review(draft, scope, path, dialogs, host)
    if not draft.changes and not is_copy:
        await dialogs.notify(f'Nothing was changed in the profile "{name}".')
        return
    _save(draft.apply_to(read_profile(source)[0]), scope, host, like=source)
    await dialogs.notify(f'Saved the profile "{name}": {path}')


async def delete(name: str, dialogs: Dialogs, host: Host, *, scope: Scope | None = None) -> None:
    """Ask which one, and whether really, and delete it; raises Cancelled or ProfileError."""
    found = files_of(name, host.place)
    if scope is None and len(found) > 1:
        scope = await ask_scope(f'Which profile "{name}" is to be deleted?', list(found), dialogs, host.place)
    scope = require_one(name, found, scope)
    path = found[scope]
    left = f"\n{found['global']} is in force then." if scope == "project" and "global" in found else ""
    if not await dialogs.confirm(f'Delete the profile "{name}"?', f"{path}{left}"):
        raise Cancelled
    delete_profile(name, scope, cwd=host.place.cwd, agent_dir=host.place.agent_dir)
    await dialogs.notify(f'Deleted the profile "{name}": {path}')


async def _fill(draft: Draft, dialogs: Dialogs, host: Host, api_key: Secret | None) -> None:
    if api_key is not None:
        draft.set(api_key=api_key)
    for step in STEPS:
        await step(draft, dialogs, host)


async def _review(draft: Draft, scope: Scope, path: Path, dialogs: Dialogs, host: Host) -> None:
    profile = msgspec.structs.replace(draft.profile, path=path, scope=scope)
    for warning in _warnings(profile, host.place.trust):
        await dialogs.notify(warning, "warning")
    shown = msgspec.structs.replace(
        profile,
        system_prompt=_shorten(profile.system_prompt),
        append_system_prompt=_shorten(profile.append_system_prompt),
    )
    title = step_title(10, f'Review. Save the profile "{profile.name}"?')
    if not await dialogs.confirm(title, detail_text(shown), initial=True):
        raise Cancelled


def _warnings(profile: Profile, trust: Trust) -> Iterator[str]:
    """What would fail every task with this profile, or is unwise."""
    for check in (check_tools, check_skills, check_extra_args):
        try:
            check(profile)
        except ProfileError as error:
            yield str(error)
    if objection := objection_to(profile, trust):
        yield objection
    if profile.api_key is not None and profile.scope == "project":
        yield "This profile has an API key, and a project's files are often shared: keep it out of version control."


def _shorten(text: str | None) -> str | None:
    lines = (text or "").splitlines()
    if len(lines) <= _MAX_REVIEW_LINES:
        return text
    return "\n".join([*lines[:_MAX_REVIEW_LINES], f"… {len(lines) - _MAX_REVIEW_LINES} more lines"])


def _save(profile: Profile, scope: Scope, host: Host, like: Path | None = None) -> None:
    save_profile(profile, scope, cwd=host.place.cwd, agent_dir=host.place.agent_dir, like=like)
