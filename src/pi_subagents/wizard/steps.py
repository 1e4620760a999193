"""Steps two to nine of the wizard: each asks for one thing and puts the answer into the draft.

No step forgets what a profile had unless it is told to: a skipped question leaves a new profile without the field, and
an existing one with what it says. Enter skips everywhere, so that nobody restricts an agent who only goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from pi_subagents.harness.pi.arguments import is_tool
from pi_subagents.models import ThinkingLevel
from pi_subagents.profiles import UnknownModel, find_pattern, nearest_offered
from pi_subagents.text.wording import closest
from pi_subagents.wizard.doubts import settle
from pi_subagents.wizard.draft import Draft
from pi_subagents.wizard.host import Host
from pi_subagents.wizard.questions import Questions

Step = Callable[[Draft, Questions, Host], Awaitable[None]]

STEP_COUNT = 10
MAX_OFFERED = 20
"""More do not fit on the screen of a host whose lists cannot scroll; then the answer is typed."""

SKIP = "Skip: leave it to pi"
ALL_TOOLS = "Skip: all tools"
OTHER = "Another one…"
KEEP, CHANGE, REMOVE = "Keep it", "Change it", "Remove it"
NO_TOOLS, ALLOW_LIST, BLACK_LIST = "Disable all tools", "Allowlist", "Blacklist"
NO_EXTENSIONS, EXTENSION_PATHS = "Disable all extensions", "Enter paths"


def step_title(number: int, words: str) -> str:
    """How every question of the wizard begins."""
    return f"Step {number} of {STEP_COUNT}: {words}"


async def ask_provider(draft: Draft, questions: Questions, host: Host) -> None:
    """The provider: one that has models here, or any other, which is asked about once more."""
    title = step_title(2, "Provider")
    now, offered = draft.profile.provider, host.providers
    while True:
        provider = await _ask_word(questions, title, now, offered, "anthropic")
        if provider is None or provider == now or not offered or provider in offered:
            break
        if settled := await settle(questions, title, {provider: closest(provider, offered)}):
            provider = settled[provider]
            break
    draft.set(provider=provider)


async def ask_model(draft: Draft, questions: Questions, host: Host) -> None:
    """The model: one of the provider's, or any other; one that pi does not offer is asked about once more."""
    title = step_title(3, "Model")
    now, offered = draft.profile.model, host.models_of(draft.profile.provider)
    while True:
        model = await _ask_word(questions, title, now, offered, "claude-sonnet-4-5")
        if model is None or model == now or _is_offered(model, draft.profile.provider, host):
            break
        nearest = nearest_offered(model, offered)
        if settled := await settle(questions, title, {model: nearest}):
            model = settled[model]
            break
    draft.set(model=model)


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
    if not await questions.confirm(title, _question(now and f"thinkingLevel: {now}", "Set how much the model thinks?")):
        return
    skip = _skip(now)
    choice = await questions.select(title, [skip, *ThinkingLevel, *([REMOVE] if now else [])], initial=skip)
    if choice != skip:
        draft.set(thinking_level=None if choice == REMOVE else choice)


async def ask_tools(draft: Draft, questions: Questions, host: Host) -> None:
    """None at all, only some, or all but some: each answer takes the place of the other two."""
    title = step_title(7, "Tools")
    now = draft.profile
    kinds = {"noTools": now.no_tools, "tools": now.tools, "excludeTools": now.exclude_tools}
    said = ", ".join(_said(key, value) for key, value in kinds.items() if value)
    if not await questions.confirm(title, _question(said, "Restrict the tools of this agent?")):
        return
    skip = _skip(said, ALL_TOOLS)
    choices = [skip, NO_TOOLS, ALLOW_LIST, BLACK_LIST, *([REMOVE] if said else [])]
    choice = await questions.select(title, choices, initial=skip)
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
    kinds = {"noExtensions": now.no_extensions, "extensions": now.extensions}
    said = ", ".join(_said(key, value) for key, value in kinds.items() if value)
    if not await questions.confirm(title, _question(said, "Configure the extensions of this agent?")):
        return
    skip = _skip(said)
    choices = [skip, NO_EXTENSIONS, EXTENSION_PATHS, *([REMOVE] if said else [])]
    choice = await questions.select(title, choices, initial=skip)
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
    kinds = {"suggestedSkills": now.suggested_skills, "loadSkills": now.load_skills}
    said = ", ".join(_said(key, value) for key, value in kinds.items() if value)
    if said:
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


def _said(key: str, value: bool | tuple[str, ...] | None) -> str:
    return f"{key}: {','.join(value)}" if isinstance(value, tuple) else key


def _skip(now: str | None, otherwise: str = SKIP) -> str:
    """What Enter takes in a list."""
    return f"{KEEP}: {now}" if now else otherwise


async def _ask_word(
    questions: Questions, title: str, now: str | None, offered: Sequence[str], example: str
) -> str | None:
    """A word, chosen or typed; None if there shall be none."""
    if 0 < len(offered) <= MAX_OFFERED:
        skip = _skip(now)
        choice = await questions.select(title, [skip, *offered, OTHER, *([REMOVE] if now else [])], initial=skip)
        if choice != OTHER:
            return {skip: now, REMOVE: None}.get(choice, choice)
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
        if settled := await settle(questions, title, {name: closest(name, known) for name in new}):
            return tuple(settled.get(name, name) for name in names or ())


async def _ask_list(questions: Questions, title: str, now: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The words; empty if what there was has been taken out; None if the question was skipped."""
    text = await questions.input(title, initial=",".join(now or ()))
    if not text.strip() and now is None:
        return None
    if now is not None and text == ",".join(now):
        return now  # a word may have a comma of its own
    return tuple(word for part in text.split(",") if (word := part.strip()))
