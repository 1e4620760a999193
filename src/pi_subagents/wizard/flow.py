"""Creating, editing and deleting a profile together with a person, and which of the two scopes is meant.

The file is written by the last answer and not before. What is written are the changes alone, to the file as it is by
then, so that nobody's work on it in the meantime is undone.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from pi_subagents.delegation.configuration import why_no_agent_can
from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile, Secret
from pi_subagents.paths import home_dir
from pi_subagents.place import Place
from pi_subagents.profiles import (
    Scope,
    delete_profile,
    detail_text,
    find_profile_file,
    load_profiles,
    objection_to,
    profiles_dir,
    read_profile,
    save_profile,
)
from pi_subagents.profiles.fields import NAME_RULE
from pi_subagents.trust import Trust
from pi_subagents.wizard.questions import Back, Cancelled, Dialogs, Questions, Skip
from pi_subagents.wizard.steps import STEP_COUNT, STEPS, Draft, Host, Step, step_title

SAVE, DESCRIBE, DISCARD = "Save it", "Edit the description", "Do not save it"
_SCOPES: tuple[Scope, ...] = ("global", "project")
_MAX_REVIEW_LINES = 20
"""Of each prompt: the question below it must stay on the screen."""


async def create(
    name: str,
    dialogs: Dialogs,
    host: Host,
    *,
    scope: Scope | None = None,
    api_key: Secret | None = None,
    description: str | None = None,
) -> None:
    """Ask for everything and write a new profile; raises Cancelled or ProfileError."""
    require_name(name)
    work = _Work(name, host, {}, api_key=api_key, description=description)
    await _converse(work, Questions(dialogs), scope)
    require_free(name, work.scope, host.place)
    await work.save(dialogs, work.draft.profile)


async def edit(
    name: str,
    dialogs: Dialogs,
    host: Host,
    *,
    scope: Scope | None = None,
    api_key: Secret | None = None,
    description: str | None = None,
) -> None:
    """Ask for everything again and write what was changed; raises Cancelled or ProfileError.

    In a scope that does not have the profile yet, this makes a copy of the other scope's.
    """
    work = _Work(name, host, files_of(name, host.place), api_key=api_key, description=description)
    await _converse(work, Questions(dialogs), scope)
    if not work.draft.changes and not work.is_copy:
        await dialogs.notify(f'Nothing was changed in the profile "{name}".')
        return
    assert work.source is not None
    await work.save(dialogs, work.draft.apply_to(read_profile(work.source)[0]))


async def delete(name: str, dialogs: Dialogs, host: Host, *, scope: Scope | None = None) -> None:
    """Ask which one, and whether really, and delete it; raises Cancelled or ProfileError."""
    found = files_of(name, host.place)
    if scope is None and len(found) > 1:
        title = f'Which profile "{name}" is to be deleted?'
        scope = await _ask_scope(title, list(found), Questions(dialogs), host.place, next(iter(found)))
    scope = require_one(name, found, scope)
    path = found[scope]
    left = f"\n{found['global']} will apply instead." if scope == "project" and "global" in found else ""
    if not await dialogs.confirm(f'Delete the profile "{name}"?', f"{path}{left}"):
        raise Cancelled
    delete_profile(name, scope, cwd=host.place.cwd, agent_dir=host.place.agent_dir)
    await dialogs.notify(f'Deleted the profile "{name}": {path}')


def files_of(name: str, place: Place) -> dict[Scope, Path]:
    """The file of that name in each scope that has one, the one in force first; raises ProfileError if none has."""
    found: dict[Scope, Path] = {}
    for scope in reversed(_SCOPES):
        if path := find_profile_file(name, profiles_dir(scope, place.cwd, place.agent_dir)):
            found[scope] = path
    if not found:
        load_profiles(place.cwd, place.agent_dir).resolve(name)  # knows the sentence about it
        raise ProfileError(f'The profile "{name}" has been deleted in the meantime.')
    return found


def require_one(name: str, found: dict[Scope, Path], scope: Scope | None) -> Scope:
    """The scope that is meant, if that is plain; raises ProfileError."""
    if scope is None and len(found) > 1:
        raise ProfileError(f'There is both a global and a project profile "{name}"; choose one with --scope.')
    if scope is not None and scope not in found:
        raise ProfileError(f'There is no {scope} profile "{name}", only this one: {next(iter(found.values()))}')
    return next(iter(found)) if scope is None else scope


def require_name(name: str) -> None:
    """Raise ProfileError for what cannot be a name."""
    if not NAME_RULE.fullmatch(name):
        raise ProfileError(f'The name "{name}" may only contain letters, digits, "-" and "_".')


def require_free(name: str, scope: Scope, place: Place) -> Path:
    """The path of a profile that is to be created; raises ProfileError if the name cannot be had."""
    require_name(name)
    folder = profiles_dir(scope, place.cwd, place.agent_dir)
    path = folder / f"{name}.md"
    if found := find_profile_file(name, folder):
        raise ProfileError(f'A {scope} profile "{name}" already exists in {found}. To change it, edit it.')
    if path.exists():
        raise ProfileError(f"{shlex.quote(str(path))} contains another profile; rename that file first.")
    return path


class _Work:
    """A profile on its way to a file: `found` are the files of its name, `given` what was said before any question."""

    def __init__(self, name: str, host: Host, found: Mapping[Scope, Path], **given: Secret | str | None) -> None:
        self.host = host
        self.scopes: list[Scope] = [*found, *(scope for scope in _SCOPES if scope not in found)]
        self.scope = self.scopes[0]
        self.draft = Draft(Profile(name=name))
        self.draft.set(**{field: value for field, value in given.items() if value is not None})
        self.source: Path | None = None
        self.path = Path()
        self._name = name
        self._found = found

    @property
    def is_copy(self) -> bool:
        """Whether a file of the other scope is what it begins with."""
        return self.source is not None and self.source != self.path

    def aim_at(self, scope: Scope) -> None:
        """Settle where the profile goes; what was answered already counts for it. Raises ProfileError."""
        self.path = self._found.get(scope) or require_free(self._name, scope, self.host.place)
        self.scope = scope
        self.source = self._found.get(scope, next(iter(self._found.values()), None))
        draft = Draft(read_profile(self.source)[0] if self.source else Profile(name=self._name))
        draft.set(**self.draft.changes)
        self.draft = draft

    async def ask_scope(self, questions: Questions) -> None:
        """The first step."""
        self.aim_at(await _ask_scope(step_title(1, "Scope"), self.scopes, questions, self.host.place, self.scope))

    def step(self, number: int, words: str) -> Callable[[Questions], Awaitable[None]]:
        """One of the steps between the first and the last."""
        title = step_title(number, words)
        return lambda questions: STEPS[words](Step(title, self.draft, questions, self.host))

    async def review(self, questions: Questions) -> None:
        """The last step; raises Cancelled if the profile is not to be saved."""
        if self.is_copy:
            await questions.notify(f"This creates a copy in the {self.scope} scope; {self.source} is not changed.")
        while (choice := await self._ask_whether(questions)) == DESCRIBE:
            title = step_title(STEP_COUNT, "Description: what this agent is for, in one line")
            text = await questions.input(title, "Reviews code", initial=self.draft.profile.description or "")
            self.draft.set(description=text.strip() or None)
        if choice == DISCARD:
            raise Cancelled

    async def save(self, dialogs: Dialogs, profile: Profile) -> None:
        """Write what came of it, and say so; raises ProfileError."""
        place = self.host.place
        save_profile(profile, self.scope, cwd=place.cwd, agent_dir=place.agent_dir, like=self.source)
        await dialogs.notify(f'Saved the profile "{self._name}": {self.path}')

    async def _ask_whether(self, questions: Questions) -> str:
        questions.begin_step(is_first=False, can_skip=False)  # also after a description: one step back is the skills
        profile = msgspec.structs.replace(self.draft.profile, path=self.path, scope=self.scope)
        for warning in _warnings(profile, self.host.place.trust):
            await questions.notify(warning, "warning")
        shown = msgspec.structs.replace(
            profile,
            system_prompt=_shorten(profile.system_prompt),
            append_system_prompt=_shorten(profile.append_system_prompt),
        )
        title = step_title(STEP_COUNT, f'Review. Save the profile "{profile.name}"?')
        return await questions.select(f"{title}\n{detail_text(shown)}", [SAVE, DESCRIBE, DISCARD], initial=SAVE)


async def _converse(work: _Work, questions: Questions, scope: Scope | None) -> None:
    """Go through the steps, back and forth, until all of them are answered."""
    if scope is not None:
        work.aim_at(scope)
    middle = [work.step(number, words) for number, words in enumerate(STEPS, start=2)]
    steps = [*([] if scope else [work.ask_scope]), *middle, work.review]
    number = 0
    while number < len(steps):
        questions.begin_step(is_first=number == 0, can_skip=steps[number] in middle)
        try:
            await steps[number](questions)
        except Back:
            number -= questions.asked_in_step == 1  # a later question of a step leads back to its first
        except Skip:
            number += 1
        else:
            number += 1


def _warnings(profile: Profile, trust: Trust) -> Iterator[str]:
    """What would fail every task with this profile, or is unwise."""
    if why := why_no_agent_can(profile):
        yield f"{why}."
    if objection := objection_to(profile, trust):
        yield objection
    if profile.api_key is not None and profile.scope == "project":
        yield "This profile has an API key, and a project's files are often shared: keep it out of version control."


def _shorten(text: str | None) -> str | None:
    lines = (text or "").splitlines()
    if len(lines) <= _MAX_REVIEW_LINES:
        return text
    return "\n".join([*lines[:_MAX_REVIEW_LINES], f"… {len(lines) - _MAX_REVIEW_LINES} more lines"])


async def _ask_scope(title: str, scopes: Sequence[Scope], questions: Questions, place: Place, usual: Scope) -> Scope:
    labels = {_label(scope, place): scope for scope in scopes}
    return labels[await questions.select(title, list(labels), initial=_label(usual, place))]


def _label(scope: Scope, place: Place) -> str:
    """A scope with its directory, as short as it can be written."""
    folder = profiles_dir(scope, place.cwd, place.agent_dir)
    for base, sign in ((place.cwd, ""), (home_dir(), "~/")):
        if folder.is_relative_to(base) and not (scope == "global" and base == place.cwd):
            return f"{scope.capitalize()} ({sign}{folder.relative_to(base)}/)"
    return f"{scope.capitalize()} ({folder}/)"
