"""Steps two to nine of the wizard: each asks for one thing and puts the answer into the draft.

No step forgets what a profile had unless it is told to: a skipped question leaves a new profile without the field, and
an existing one with what it says. Enter skips everywhere, so that nobody restricts an agent who only goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pi_subagents.harness import DEFAULT_AGENT, harness_named
from pi_subagents.harness.pi.arguments import is_tool
from pi_subagents.models import Profile, ThinkingLevel
from pi_subagents.place import Place
from pi_subagents.profiles import UnknownModel, find_pattern, nearest_offered
from pi_subagents.text.wording import closest
from pi_subagents.wizard.questions import Questions

STEP_COUNT = 10
MAX_OFFERED = 20
"""More do not fit on the screen of a host whose lists cannot scroll; then the answer is typed."""

SKIP = "Skip: leave it to the agent"
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


def step_title(number: int, words: str) -> str:
    """How every question of the wizard begins."""
    return f"Step {number} of {STEP_COUNT}: {words}"


@dataclass(frozen=True)
class Step:
    """A step at work: what it asks about, whom, and what there is to choose from."""

    title: str
    draft: Draft
    questions: Questions
    host: Host

    @property
    def now(self) -> Profile:
        """The profile as it would be saved."""
        return self.draft.profile

    async def wants(self, said: str | None, if_unset: str) -> bool:
        """Whether what the profile says is to be changed, or something to be said at all."""
        question = f"It has {said}. Change that? No keeps it." if said else if_unset
        return await self.questions.confirm(self.title, question)

    async def choose(self, now: str | None, options: Iterable[str], otherwise: str = SKIP) -> str | None:
        """One of the options, or REMOVE if there is something; None for what Enter takes: it stays as it is."""
        skip = f"{KEEP}: {now}" if now else otherwise
        choice = await self.questions.select(self.title, [skip, *options, *([REMOVE] if now else [])], initial=skip)
        return None if choice == skip else choice

    async def word(
        self, now: str | None, offered: Sequence[str], example: str, doubt: Callable[[str], dict[str, str | None]]
    ) -> str | None:
        """A word, chosen or typed; None if there shall be none. A new one that is in doubt is asked about once more."""
        while True:
            word = await self._choose_or_type(now, offered, example)
            if word is None or word == now or not (doubtful := doubt(word)):
                return word
            if settled := await self.questions.settle(self.title, doubtful):
                return settled[word]

    async def _choose_or_type(self, now: str | None, offered: Sequence[str], example: str) -> str | None:
        if 0 < len(offered) <= MAX_OFFERED:
            choice = await self.choose(now, [*offered, OTHER])
            if choice != OTHER:
                return now if choice is None else None if choice == REMOVE else choice
        return (await self.questions.input(self.title, example, initial=now or "")).strip() or None

    async def names(
        self,
        words: str,
        now: tuple[str, ...] | None,
        known: tuple[str, ...],
        passes: Callable[[str], bool] | None = None,
    ) -> tuple[str, ...] | None:
        """The names as `list` gives them; those that are not known, and do not pass, are asked about once more.

        Where nothing is known and nothing tells what passes, anything does.
        """
        there_are = f" (available: {', '.join(known)})" if 0 < len(known) <= MAX_OFFERED else ""
        while True:
            names = await self.list(f"{words}, separated by commas{there_are}", now)
            new = [name for name in names or () if name not in (*known, *(now or ())) and not (passes and passes(name))]
            if not new or not (known or passes):
                return names
            if settled := await self.questions.settle(self.title + words, {name: closest(name, known) for name in new}):
                return tuple(settled.get(name, name) for name in names or ())

    async def list(self, words: str, now: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """The words; empty if what there was has been taken out; None if the question was skipped."""
        text = await self.questions.input(self.title + words, initial=",".join(now or ()))
        if not text.strip() and now is None:
            return None
        if now is not None and text == ",".join(now):
            return now  # a word may have a comma of its own
        return tuple(word for part in text.split(",") if (word := part.strip()))

    def set_text(self, attribute: str, text: str) -> None:
        """Take over a text; editors differ in what they make of its end, and only that is no change."""
        now: str = getattr(self.now, attribute) or ""
        if text.strip() != now.strip():
            self.draft.set(**{attribute: text.strip() or None})


async def ask_provider(step: Step) -> None:
    """The provider: one that has models here, or any other, which is asked about once more."""
    offered = step.host.providers if _is_for_pi(step.now) else ()

    def doubt(provider: str) -> dict[str, str | None]:
        return {provider: closest(provider, offered)} if offered and provider not in offered else {}

    step.draft.set(provider=await step.word(step.now.provider, offered, "anthropic", doubt))


async def ask_model(step: Step) -> None:
    """The model: one of the provider's, or any other; one that pi does not offer is asked about once more."""
    provider = step.now.provider
    offered = step.host.models_of(provider) if _is_for_pi(step.now) else ()

    def doubt(model: str) -> dict[str, str | None]:
        is_known = not _is_for_pi(step.now) or _is_offered(model, provider, step.host)
        return {} if is_known else {model: nearest_offered(model, offered)}

    step.draft.set(model=await step.word(step.now.model, offered, "claude-sonnet-4-5", doubt))


def _is_for_pi(profile: Profile) -> bool:
    """Whether it is `pi` that has to know its models."""
    return profile.agent in (None, DEFAULT_AGENT)


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


async def ask_system_prompt(step: Step) -> None:
    """The text that replaces pi's own system prompt."""
    now = step.now.system_prompt
    if await step.wants(now and "its own system prompt", "Give it its own system prompt, instead of the agent's?"):
        step.set_text("system_prompt", await step.questions.editor(step.title, now or ""))


async def ask_appended_prompt(step: Step) -> None:
    """The text that is added to the system prompt."""
    now, questions = step.now.append_system_prompt or "", step.questions
    if await step.wants(now and "text added to the system prompt", "Add a text to the system prompt?"):
        one_line = "\n" not in now.strip()
        ask = questions.input(step.title, "Be brief.", initial=now) if one_line else questions.editor(step.title, now)
        step.set_text("append_system_prompt", await ask)


async def ask_thinking_level(step: Step) -> None:
    """How much the model thinks."""
    now = step.now.thinking_level
    if await step.wants(now and f"thinkingLevel: {now}", "Set how much the model thinks?"):
        choice = await step.choose(now, ThinkingLevel)
        if choice is not None:
            step.draft.set(thinking_level=None if choice == REMOVE else choice)


async def ask_tools(step: Step) -> None:
    """None at all, only some, or all but some: each answer takes the place of the other two."""
    now = step.now
    known, passes = _tools_for(step)
    said = _said(noTools=now.no_tools, tools=now.tools, excludeTools=now.exclude_tools)
    if not await step.wants(said, "Restrict the tools of this agent?"):
        return
    choice = await step.choose(said, [NO_TOOLS, ALLOW_LIST, BLACK_LIST], ALL_TOOLS)
    if choice in (NO_TOOLS, REMOVE):
        step.draft.set(no_tools=choice == NO_TOOLS, tools=None, exclude_tools=None)
    elif choice == ALLOW_LIST:
        words = await step.names(" to allow", now.tools, known, passes)
        if words is not None:
            step.draft.set(no_tools=False, tools=words or None, exclude_tools=None)
    elif choice == BLACK_LIST:
        words = await step.names(" to exclude", now.exclude_tools, known, passes)
        if words is not None:
            step.draft.set(no_tools=False, tools=None, exclude_tools=words or None)


def _tools_for(step: Step) -> tuple[tuple[str, ...], Callable[[str], bool] | None]:
    """The tools to offer, and what tells whether the agent may have another one; None if nobody can say."""
    if _is_for_pi(step.now):
        return step.host.tools, is_tool if step.host.tools else None
    harness, place = harness_named(step.now.agent or ""), step.host.place

    def has(tool: str) -> bool:
        asked = Profile(name="", tools=(tool,))
        return not any(harness.unknown_tools(asked, place.cwd, place.agent_dir))

    return (), has


async def ask_extensions(step: Step) -> None:
    """None at all, or the paths of some."""
    now = step.now
    said = _said(noExtensions=now.no_extensions, extensions=now.extensions)
    if not await step.wants(said, "Configure the extensions of this agent?"):
        return
    choice = await step.choose(said, [NO_EXTENSIONS, EXTENSION_PATHS])
    if choice in (NO_EXTENSIONS, REMOVE):
        step.draft.set(no_extensions=choice == NO_EXTENSIONS, extensions=None)
    elif choice == EXTENSION_PATHS:
        paths = await step.list(": paths, separated by commas", now.extensions)
        if paths is not None:
            step.draft.set(no_extensions=False, extensions=paths or None)


async def ask_skills(step: Step) -> None:
    """Skills to suggest and skills to load."""
    now, known = step.now, step.host.skills
    if said := _said(suggestedSkills=now.suggested_skills, loadSkills=now.load_skills):
        choice = await step.questions.select(f"{step.title}. It has {said}", [KEEP, CHANGE, REMOVE], initial=KEEP)
        if choice == REMOVE:
            step.draft.set(suggested_skills=None, load_skills=None)
        if choice != CHANGE:
            return
    elif not await step.wants(None, f"{'It has noSkills. ' if now.no_skills else ''}Configure skills?"):
        return
    suggested = await step.names(" to suggest", now.suggested_skills, known)
    loaded = await step.names(" to pre-load", now.load_skills, known)
    if suggested is not None:
        step.draft.set(suggested_skills=suggested or None)
    if loaded is not None:
        step.draft.set(load_skills=loaded or None)
    if suggested or loaded:
        step.draft.set(no_skills=False)


def _said(**fields: bool | tuple[str, ...] | None) -> str:
    """Those of the fields that are set, as they stand in the file."""
    said = {key: f": {','.join(value)}" if isinstance(value, tuple) else "" for key, value in fields.items() if value}
    return ", ".join(f"{key}{values}" for key, values in said.items())


STEPS: dict[str, Callable[[Step], Awaitable[None]]] = {
    "Provider": ask_provider,
    "Model": ask_model,
    "System prompt": ask_system_prompt,
    "Append system prompt": ask_appended_prompt,
    "Thinking level": ask_thinking_level,
    "Tools": ask_tools,
    "Extensions": ask_extensions,
    "Skills": ask_skills,
}
"""Those after the first, which is the scope, and before the last, the review."""
