"""Steps two to nine of the wizard: each asks for one thing and puts the answer into the draft.

No step forgets what a profile had unless it is told to: a skipped question leaves a new profile without the field, and
an existing one with what it says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from pi_subagents.models import ThinkingLevel
from pi_subagents.profiles import UnknownModel, find_offered
from pi_subagents.wizard.dialogs import Dialogs
from pi_subagents.wizard.draft import Draft
from pi_subagents.wizard.host import Host

Step = Callable[[Draft, Dialogs, Host], Awaitable[None]]

STEP_COUNT = 10
MAX_OFFERED = 20
"""More do not fit on the screen of a host whose lists cannot scroll; then the answer is typed."""

SKIP = "Skip: leave it to pi"
OTHER = "Another one…"
KEEP, CHANGE, REMOVE = "Keep it", "Change it", "Remove it"
NO_TOOLS, ALLOW_LIST, BLACK_LIST = "Disable all tools", "Allowlist", "Blacklist"
NO_EXTENSIONS, EXTENSION_PATHS = "Disable all extensions", "Enter paths"


def step_title(number: int, words: str) -> str:
    """How every question of the wizard begins."""
    return f"Step {number} of {STEP_COUNT}: {words}"


async def ask_provider(draft: Draft, dialogs: Dialogs, host: Host) -> None:
    """The provider: one that has models here, or any other."""
    await _ask_word(draft, dialogs, "provider", step_title(2, "Provider"), host.providers, "anthropic")


async def ask_model(draft: Draft, dialogs: Dialogs, host: Host) -> None:
    """The model: one of the provider's, or any other. One that pi does not offer is saved all the same, with a word."""
    offered = host.models_of(draft.profile.provider)
    await _ask_word(draft, dialogs, "model", step_title(3, "Model"), offered, "claude-sonnet-4-5")
    model = draft.profile.model
    if "model" in draft.changes and model and offered:
        try:
            find_offered(model, offered if model in offered else host.models)
        except UnknownModel as error:
            await dialogs.notify(f"{error}. It can be saved all the same.", "warning")


async def ask_system_prompt(draft: Draft, dialogs: Dialogs, host: Host) -> None:
    """The text that replaces pi's own system prompt."""
    title = step_title(4, "System prompt")
    now = draft.profile.system_prompt
    question = _question(now and "a system prompt of its own", "Give it a system prompt of its own, instead of pi's?")
    if await dialogs.confirm(title, question):
        _set_text(draft, "system_prompt", await dialogs.editor(title, now or ""))


async def ask_appended_prompt(draft: Draft, dialogs: Dialogs, host: Host) -> None:
    """The text that is added to the system prompt."""
    title = step_title(5, "Append system prompt")
    now = draft.profile.append_system_prompt or ""
    question = _question(now and "a text that is added to the system prompt", "Add a text to the system prompt?")
    if await dialogs.confirm(title, question):
        has_lines = "\n" in now.strip()
        text = await (dialogs.editor(title, now) if has_lines else dialogs.input(title, "Be brief.", initial=now))
        _set_text(draft, "append_system_prompt", text)


async def ask_thinking_level(draft: Draft, dialogs: Dialogs, host: Host) -> None:
    """How much the model thinks."""
    title = step_title(6, "Thinking level")
    now = draft.profile.thinking_level
    if not await dialogs.confirm(title, _question(now and f"thinkingLevel: {now}", "Set how much the model thinks?")):
        return
    options = [*ThinkingLevel, *([REMOVE] if now else [])]
    choice = await dialogs.select(title, options, initial=now)
    if choice is not None:
        draft.set(thinking_level=None if choice == REMOVE else choice)


async def ask_tools(draft: Draft, dialogs: Dialogs, host: Host) -> None:
    """None at all, only some, or all but some: each answer takes the place of the other two."""
    title = step_title(7, "Tools")
    now = draft.profile
    kinds = {"noTools": now.no_tools, "tools": now.tools, "excludeTools": now.exclude_tools}
    said = ", ".join(_said(key, value) for key, value in kinds.items() if value)
    if not await dialogs.confirm(title, _question(said, "Restrict the tools of this agent?")):
        return
    choice = await dialogs.select(title, [NO_TOOLS, ALLOW_LIST, BLACK_LIST, *([REMOVE] if said else [])])
    if choice in (NO_TOOLS, REMOVE):
        draft.set(no_tools=choice == NO_TOOLS, tools=None, exclude_tools=None)
    elif choice == ALLOW_LIST:
        words = await _ask_names(dialogs, f"{title} to allow", now.tools, host.tools)
        if words is not None:
            draft.set(no_tools=False, tools=words or None, exclude_tools=None)
    elif choice == BLACK_LIST:
        words = await _ask_names(dialogs, f"{title} to exclude", now.exclude_tools, host.tools)
        if words is not None:
            draft.set(no_tools=False, tools=None, exclude_tools=words or None)


async def ask_extensions(draft: Draft, dialogs: Dialogs, host: Host) -> None:
    """None at all, or the paths of some."""
    title = step_title(8, "Extensions")
    now = draft.profile
    kinds = {"noExtensions": now.no_extensions, "extensions": now.extensions}
    said = ", ".join(_said(key, value) for key, value in kinds.items() if value)
    if not await dialogs.confirm(title, _question(said, "Configure the extensions of this agent?")):
        return
    choice = await dialogs.select(title, [NO_EXTENSIONS, EXTENSION_PATHS, *([REMOVE] if said else [])])
    if choice in (NO_EXTENSIONS, REMOVE):
        draft.set(no_extensions=choice == NO_EXTENSIONS, extensions=None)
    elif choice == EXTENSION_PATHS:
        paths = await _ask_list(dialogs, f"{title}: paths, with commas between them", now.extensions)
        if paths is not None:
            draft.set(no_extensions=False, extensions=paths or None)


async def ask_skills(draft: Draft, dialogs: Dialogs, host: Host) -> None:
    """Skills to suggest and skills to load."""
    title = step_title(9, "Skills")
    now = draft.profile
    kinds = {"suggestedSkills": now.suggested_skills, "loadSkills": now.load_skills}
    said = ", ".join(_said(key, value) for key, value in kinds.items() if value)
    if said:
        choice = await dialogs.select(f"{title}. It has {said}", [KEEP, CHANGE, REMOVE], initial=KEEP)
        if choice == REMOVE:
            draft.set(suggested_skills=None, load_skills=None)
        if choice != CHANGE:
            return
    elif not await dialogs.confirm(title, f"{'It has noSkills. ' if now.no_skills else ''}Configure skills?"):
        return
    suggested = await _ask_names(dialogs, f"{title} to suggest", now.suggested_skills, host.skills)
    loaded = await _ask_names(dialogs, f"{title} to pre-load", now.load_skills, host.skills)
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


async def _ask_word(
    draft: Draft, dialogs: Dialogs, attribute: str, title: str, offered: Sequence[str], example: str
) -> None:
    now: str | None = getattr(draft.profile, attribute)
    if 0 < len(offered) <= MAX_OFFERED:
        skip = f"{KEEP}: {now}" if now else SKIP
        choice = await dialogs.select(title, [skip, *offered, OTHER, *([REMOVE] if now else [])], initial=skip)
        if choice in offered:
            draft.set(**{attribute: choice})
        if choice == REMOVE:
            draft.set(**{attribute: None})
        if choice != OTHER:
            return
    _set_text(draft, attribute, await dialogs.input(title, example, initial=now or ""))


def _set_text(draft: Draft, attribute: str, text: str | None) -> None:
    # Editors differ in what they make of the end of a text; only that is no change.
    now: str = getattr(draft.profile, attribute) or ""
    if text is not None and text.strip() != now.strip():
        draft.set(**{attribute: text.strip() or None})


async def _ask_names(
    dialogs: Dialogs, title: str, now: tuple[str, ...] | None, known: tuple[str, ...]
) -> tuple[str, ...] | None:
    there_are = f" (there are {', '.join(known)})" if 0 < len(known) <= MAX_OFFERED else ""
    names = await _ask_list(dialogs, f"{title}, with commas between them{there_are}", now)
    unknown = [name for name in names or () if name not in known]
    if known and unknown:
        await dialogs.notify(f"Not known here: {', '.join(unknown)}. It can be saved all the same.", "warning")
    return names


async def _ask_list(dialogs: Dialogs, title: str, now: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The words; empty if what there was has been taken out; None if the question was skipped."""
    text = await dialogs.input(title, initial=",".join(now or ()))
    if text is None or (not text.strip() and now is None):
        return None
    if now is not None and text == ",".join(now):
        return now  # a word may have a comma of its own
    return tuple(word for part in text.split(",") if (word := part.strip()))
