"""Creating, editing and deleting a profile together with a person.

The file is written by the last answer and not before. What is written are the changes alone, to the file as it is by
then, so that nobody's work on it in the meantime is undone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from pi_subagents.errors import ProfileError
from pi_subagents.harness.pi.arguments import check_extra_args, check_tools
from pi_subagents.models import Profile, Secret
from pi_subagents.profiles import Scope, delete_profile, detail_text, objection_to, read_profile, save_profile
from pi_subagents.skills import check_skills
from pi_subagents.trust import Trust
from pi_subagents.wizard.dialogs import Cancelled, Dialogs
from pi_subagents.wizard.draft import Draft
from pi_subagents.wizard.host import Host
from pi_subagents.wizard.questions import Back, Questions, Skip
from pi_subagents.wizard.scopes import SCOPES, ask_scope, files_of, require_free, require_name, require_one
from pi_subagents.wizard.steps import STEP_COUNT, STEPS, Step, step_title

_MAX_REVIEW_LINES = 20
"""Of each prompt: the question below it must stay on the screen."""


SAVE, DESCRIBE, DISCARD = "Save it", "Edit the description", "Do not save it"


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
    work = _Work(name, host, {})
    work.given(api_key=api_key, description=description)
    await _converse(work, Questions(dialogs), scope)
    require_free(name, work.scope, host.place)
    _save(work.draft.profile, work.scope, host)
    await dialogs.notify(f'Saved the profile "{name}": {work.path}')


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
    work = _Work(name, host, files_of(name, host.place))
    work.given(api_key=api_key, description=description)
    await _converse(work, Questions(dialogs), scope)
    if not work.draft.changes and not work.is_copy:
        await dialogs.notify(f'Nothing was changed in the profile "{name}".')
        return
    assert work.source is not None
    _save(work.draft.apply_to(read_profile(work.source)[0]), work.scope, host, like=work.source)
    await dialogs.notify(f'Saved the profile "{name}": {work.path}')


async def delete(name: str, dialogs: Dialogs, host: Host, *, scope: Scope | None = None) -> None:
    """Ask which one, and whether really, and delete it; raises Cancelled or ProfileError."""
    found = files_of(name, host.place)
    if scope is None and len(found) > 1:
        title = f'Which profile "{name}" is to be deleted?'
        scope = await ask_scope(title, list(found), Questions(dialogs), host.place, next(iter(found)))
    scope = require_one(name, found, scope)
    path = found[scope]
    left = f"\n{found['global']} will apply instead." if scope == "project" and "global" in found else ""
    if not await dialogs.confirm(f'Delete the profile "{name}"?', f"{path}{left}"):
        raise Cancelled
    delete_profile(name, scope, cwd=host.place.cwd, agent_dir=host.place.agent_dir)
    await dialogs.notify(f'Deleted the profile "{name}": {path}')


class _Work:
    """A profile on its way to a file: `found` are the files that there are of its name."""

    def __init__(self, name: str, host: Host, found: Mapping[Scope, Path]) -> None:
        self.host = host
        self.scopes: list[Scope] = [*found, *(scope for scope in SCOPES if scope not in found)]
        self.scope = self.scopes[0]
        self.draft = Draft(Profile(name=name))
        self.source: Path | None = None
        self.path = Path()
        self._name = name
        self._found = found

    @property
    def is_copy(self) -> bool:
        """Whether a file of the other scope is what it begins with."""
        return self.source is not None and self.source != self.path

    def given(self, **values: Secret | str | None) -> None:
        """Take what was said before the first question."""
        self.draft.set(**{name: value for name, value in values.items() if value is not None})

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
        self.aim_at(await ask_scope(step_title(1, "Scope"), self.scopes, questions, self.host.place, self.scope))

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
    middle = [_about_draft(step, work) for step in STEPS]
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


def _about_draft(step: Step, work: _Work) -> Callable[[Questions], Awaitable[None]]:
    return lambda questions: step(work.draft, questions, work.host)


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
