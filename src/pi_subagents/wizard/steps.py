"""Steps two to nine of the wizard: each asks for one thing and puts the answer into the draft.

No step forgets what a profile had unless it is told to: a skipped question leaves a new profile without the field, and
an existing one with what it says. Enter skips everywhere, so that nobody restricts an agent who only goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pi_subagents.harness.pi.arguments import is_tool
from pi_subagents.models import Profile, ThinkingLevel
from pi_subagents.place import Place
from pi_subagents.profiles import UnknownModel, find_pattern, nearest_offered
from pi_subagents.text.wording import closest
from pi_subagents.wizard.questions import Questions

STEP_COUNT = 10
MAX_OFFERED = 20
"""More do not fit on the screen of a host whose lists cannot scroll; then the answer is typed."""

SKIP = "Skip: leave it to pi"
ALL_TOOLS = "Skip: all tools"
OTHER = "Another one…"
KEEP, CHANGE, REMOVE = "Keep it", "Change it", "Remove it"
NO_TOOLS, ALLOW_LIST, BLACK_LIST = "Disable all tools", "Allowlist", "Blacklist"
NO_EXTENSIONS, EXTENSION_PATHS = "Disable all extensions", "Enter paths"


@dataclass(frozen=True)
class Host:
    """The place, and what there is to choose from; what is empty is unknown, and then anything may be typed."""

    place: Place
    models: tuple[str, ...] = ()
    """As `provider/id`."""
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()

    @property
    def providers(self) -> tuple[str, ...]:
        """Every provider with a model, once."""
        return tuple(dict.fromkeys(model.partition("/")[0] for model in self.models))

    def models_of(self, provider: str | None) -> tuple[str, ...]:
        """The ids of a provider's models; without a provider all models in full."""
        if provider is None:
            return self.models
        return tuple(model.removeprefix(f"{provider}/") for model in self.models if model.startswith(f"{provider}/"))


@dataclass
class Draft:
    """What the profile was, and what differs by now; only the latter is ever written."""

    before: Profile
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def profile(self) -> Profile:
        """As it would be saved."""
        return self.apply_to(self.before)

    def apply_to(self, profile: Profile) -> Profile:
        """Another profile with the same changes."""
        return msgspec.structs.replace(profile, **self.changes)

    def set(self, **values: Any) -> None:
        """Change fields; what is as it was is no change."""
        merged = {**self.changes, **values}
        self.changes = {name: value for name, value in merged.items() if value != getattr(self.before, name)}


Step = Callable[[Draft, Questions, Host], Awaitable[None]]


def step_title(number: int, words: str) -> str:
    """How every question of the wizard begins."""
    return f"Step {number} of {STEP_COUNT}: {words}"


async def ask_provider(draft: Draft, questions: Questions, host: Host) -> None:
    """The provider: one that has models here, or any other, which is asked about once more."""
    title = step_title(2, "Provider")
    offered = host.providers

    def doubt(provider: str) -> dict[str, str | None]:
        return {provider: closest(provider, offered)} if offered and provider not in offered else {}

    draft.set(provider=await _ask_word(questions, title, draft.profile.provider, offered, "anthropic", doubt))


async def ask_model(draft: Draft, questions: Questions, host: Host) -> None:
    """The model: one of the provider's, or any other; one that pi does not offer is asked about once more."""
    title = step_title(3, "Model")
    provider = draft.profile.provider
    offered = host.models_of(provider)

    def doubt(model: str) -> dict[str, str | None]:
        return {} if _is_offered(model, provider, host) else {model: nearest_offered(model, offered)}

    draft.set(model=await _ask_word(questions, title, draft.profile.model, offered, "claude-sonnet-4-5", doubt))


async def ask_system_prompt(draft: Draft, questions: Questions, host: Host) -> None:
    """The text that replaces pi's own system prompt."""
    title = step_title(4, "System prompt")
    now = draft.profile.system_prompt
    question = _question(now and "its own system prompt", "Give it its own system prompt, instead of pi's?")
    if await questions.confirm(title, question):
        _set_text(draft, "system_prompt", await questions.editor(title, now or ""))


async def ask_appended_prompt(draft: Draft, questions: Questions, host: Host) -> None:
    """The text that is added to the system prompt."""
    title = step_title(5, "Append system prompt")
    now = draft.profile.append_system_prompt or ""
    question = _question(now and "text added to the system prompt", "Add a text to the system prompt?")
    if await questions.confirm(title, question):
        has_lines = "\n" in now.strip()
        text = await (questions.editor(title, now) if has_lines else questions.input(title, "Be brief.", initial=now))
        _set_text(draft, "append_system_prompt", text)


async def ask_thinking_level(draft: Draft, questions: Questions, host: Host) -> None:
    """How much the model thinks."""
    title = step_title(6, "Thinking level")
    now = draft.profile.thinking_level
    if await questions.confirm(title, _question(now and f"thinkingLevel: {now}", "Set how much the model thinks?")):
        choice = await _choose(questions, title, now, list(ThinkingLevel))
        if choice is not None:
            draft.set(thinking_level=None if choice == REMOVE else choice)


async def ask_tools(draft: Draft, questions: Questions, host: Host) -> None:
    """None at all, only some, or all but some: each answer takes the place of the other two."""
    title = step_title(7, "Tools")
    now = draft.profile
    said = _said(noTools=now.no_tools, tools=now.tools, excludeTools=now.exclude_tools)
    if not await questions.confirm(title, _question(said, "Restrict the tools of this agent?")):
        return
    choice = await _choose(questions, title, said, [NO_TOOLS, ALLOW_LIST, BLACK_LIST], ALL_TOOLS)
    if choice in (NO_TOOLS, REMOVE):
        draft.set(no_tools=choice == NO_TOOLS, tools=None, exclude_tools=None)
    elif choice == ALLOW_LIST:
        words = await _ask_names(questions, f"{title} to allow", now.tools, host.tools, is_tool)
        if words is not None:
            draft.set(no_tools=False, tools=words or None, exclude_tools=None)
    elif choice == BLACK_LIST:
        words = await _ask_names(questions, f"{title} to exclude", now.exclude_tools, host.tools, is_tool)
        if words is not None:
            draft.set(no_tools=False, tools=None, exclude_tools=words or None)


async def ask_extensions(draft: Draft, questions: Questions, host: Host) -> None:
    """None at all, or the paths of some."""
    title = step_title(8, "Extensions")
    now = draft.profile
    said = _said(noExtensions=now.no_extensions, extensions=now.extensions)
    if not await questions.confirm(title, _question(said, "Configure the extensions of this agent?")):
        return
    choice = await _choose(questions, title, said, [NO_EXTENSIONS, EXTENSION_PATHS])
    if choice in (NO_EXTENSIONS, REMOVE):
        draft.set(no_extensions=choice == NO_EXTENSIONS, extensions=None)
    elif choice == EXTENSION_PATHS:
        paths = await _ask_list(questions, f"{title}: paths, separated by commas", now.extensions)
        if paths is not None:
            draft.set(no_extensions=False, extensions=paths or None)


async def ask_skills(draft: Draft, questions: Questions, host: Host) -> None:
    """Skills to suggest and skills to load."""
    title = step_title(9, "Skills")
    now = draft.profile
    if said := _said(suggestedSkills=now.suggested_skills, loadSkills=now.load_skills):
        choice = await questions.select(f"{title}. It has {said}", [KEEP, CHANGE, REMOVE], initial=KEEP)
        if choice == REMOVE:
            draft.set(suggested_skills=None, load_skills=None)
        if choice != CHANGE:
            return
    elif not await questions.confirm(title, f"{'It has noSkills. ' if now.no_skills else ''}Configure skills?"):
        return
    suggested = await _ask_names(questions, f"{title} to suggest", now.suggested_skills, host.skills)
    loaded = await _ask_names(questions, f"{title} to pre-load", now.load_skills, host.skills)
    if suggested is not None:
        draft.set(suggested_skills=suggested or None)
    if loaded is not None:
        draft.set(load_skills=loaded or None)
    if suggested or loaded:
        draft.set(no_skills=False)


STEPS: tuple[Step, ...] = (
    ask_provider,
    ask_model,
    ask_system_prompt,
    ask_appended_prompt,
    ask_thinking_level,
    ask_tools,
    ask_extensions,
    ask_skills,
)


def _question(said: str | None, if_unset: str) -> str:
    return f"It has {said}. Change that? No keeps it." if said else if_unset


def _said(**fields: bool | tuple[str, ...] | None) -> str:
    """Those of the fields that are set, as they stand in the file."""
    said = {key: f": {','.join(value)}" if isinstance(value, tuple) else "" for key, value in fields.items() if value}
    return ", ".join(f"{key}{values}" for key, values in said.items())


async def _choose(
    questions: Questions, title: str, now: str | None, options: Sequence[str], otherwise: str = SKIP
) -> str | None:
    """One of the options, or REMOVE if there is something; None for what Enter takes: it stays as it is."""
    skip = f"{KEEP}: {now}" if now else otherwise
    choice = await questions.select(title, [skip, *options, *([REMOVE] if now else [])], initial=skip)
    return None if choice == skip else choice


async def _ask_word(
    questions: Questions,
    title: str,
    now: str | None,
    offered: Sequence[str],
    example: str,
    doubt: Callable[[str], dict[str, str | None]],
) -> str | None:
    """A word, chosen or typed; None if there shall be none. A new one that is in doubt is asked about once more."""
    while True:
        word = await _choose_or_type(questions, title, now, offered, example)
        if word is None or word == now or not (doubtful := doubt(word)):
            return word
        if settled := await questions.settle(title, doubtful):
            return settled[word]


async def _choose_or_type(
    questions: Questions, title: str, now: str | None, offered: Sequence[str], example: str
) -> str | None:
    if 0 < len(offered) <= MAX_OFFERED:
        choice = await _choose(questions, title, now, [*offered, OTHER])
        if choice != OTHER:
            return now if choice is None else None if choice == REMOVE else choice
    return (await questions.input(title, example, initial=now or "")).strip() or None


def _is_offered(model: str, provider: str | None, host: Host) -> bool:
    """Whether pi has the model, as far as that is known."""
    if not host.models:
        return True
    full = model if provider is None or model.startswith(f"{provider}/") else f"{provider}/{model}"
    try:
        find_pattern(full, host.models)
    except UnknownModel:
        return False
    return True


def _set_text(draft: Draft, attribute: str, text: str) -> None:
    # Editors differ in what they make of the end of a text; only that is no change.
    now: str = getattr(draft.profile, attribute) or ""
    if text.strip() != now.strip():
        draft.set(**{attribute: text.strip() or None})


async def _ask_names(
    questions: Questions,
    title: str,
    now: tuple[str, ...] | None,
    known: tuple[str, ...],
    passes: Callable[[str], bool] = lambda _name: False,
) -> tuple[str, ...] | None:
    """The names as `_ask_list` gives them; those that are not known, and do not pass, are asked about once more."""
    there_are = f" (available: {', '.join(known)})" if 0 < len(known) <= MAX_OFFERED else ""
    while True:
        names = await _ask_list(questions, f"{title}, separated by commas{there_are}", now)
        new = [name for name in names or () if name not in (*known, *(now or ())) and not passes(name)]
        if not known or not new:
            return names
        if settled := await questions.settle(title, {name: closest(name, known) for name in new}):
            return tuple(settled.get(name, name) for name in names or ())


async def _ask_list(questions: Questions, title: str, now: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The words; empty if what there was has been taken out; None if the question was skipped."""
    text = await questions.input(title, initial=",".join(now or ()))
    if not text.strip() and now is None:
        return None
    if now is not None and text == ",".join(now):
        return now  # a word may have a comma of its own
    return tuple(word for part in text.split(",") if (word := part.strip()))
