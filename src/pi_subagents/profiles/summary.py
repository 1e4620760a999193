"""A profile in the words people and models see: one line, every field with the key masked, or why it cannot be used."""

from __future__ import annotations

import shlex
from pathlib import Path
from textwrap import indent

from pi_subagents.models import Profile, Secret
from pi_subagents.profiles.fields import FIELDS, PROFILE, TIMEOUT, Format
from pi_subagents.trust import FIELDS as CLASSES
from pi_subagents.trust import Trust

Shown = str | bool | float | list[str]


def profile_summary(profile: Profile, kind: Format = PROFILE) -> str:
    """The comma list of `list_subagent_profiles` and of a delegation's summary line."""
    return ", ".join(
        part
        for part in (
            f"{kind.word}: {profile.name}",
            _assign("agent", profile.agent),
            _assign("model", profile.model) or _assign("provider", profile.provider),
            _assign("thinking", profile.thinking_level),
            "custom-system-prompt" if profile.system_prompt else "",
            "appended-system-prompt" if profile.append_system_prompt else "",
            _tools(profile),
            _bracket("suggestedSkills", profile.suggested_skills),
            _bracket("loadSkills", profile.load_skills),
        )
        if part
    )


def profile_detail(profile: Profile) -> dict[str, Shown]:
    """Every field that is set, by the key it has in the file; an API key is masked."""
    detail: dict[str, Shown] = {}
    for field in (*FIELDS, TIMEOUT):
        value = field.of(profile)
        if isinstance(value, Secret):
            detail[field.key] = value.masked()
        elif value not in (None, False):
            detail[field.key] = list(value) if isinstance(value, tuple) else value
    if profile.system_prompt:
        detail["systemPrompt"] = profile.system_prompt
    if profile.scope:
        detail["scope"] = profile.scope
    if profile.path:
        detail["path"] = str(profile.path)
    return detail


def detail_text(profile: Profile) -> str:
    """The same as lines for people; a text of several lines stands below its key."""
    lines = []
    for key, value in profile_detail(profile).items():
        shown = (shlex.join(value) if key == "program" else ", ".join(value)) if isinstance(value, list) else str(value)
        lines.append(f"{key}:\n{indent(shown, '  ')}" if "\n" in shown else f"{key}: {shown}")
    return "\n".join(lines)


def _tools(profile: Profile) -> str:
    if profile.no_tools:
        return "no-tools"
    return _bracket("tools", profile.tools) or _bracket("excludeTools", profile.exclude_tools)


def _assign(word: str, value: str | None) -> str:
    return f"{word}={value}" if value else ""


def _bracket(word: str, values: tuple[str, ...] | None) -> str:
    return f"{word}=[{','.join(values)}]" if values else ""


def powers_of(profile: Profile) -> dict[str, str]:
    """The powers that a profile uses, by the key in its file, each with what it does."""
    return {
        field.key: power
        for field in FIELDS
        if (power := CLASSES[field.key]) is not None and field.of(profile) not in (None, False, ())
    }


def home_of(profile: Profile) -> Path | None:
    """The directory whose `.pi` a project's profile is in; None for one of the user's own."""
    return profile.path.parents[2] if profile.path is not None and profile.scope == "project" else None


def objection_to(profile: Profile, trust: Trust) -> str | None:
    """Why a profile cannot be used as it is, and what to do about it; None if it can.

    Leaving out what has no power here could leave out a restriction, so such a profile is not used at all.
    """
    powers = powers_of(profile)
    if not powers or profile.path is None:
        return None
    reason = trust.objection(profile.path, home_of(profile))
    said = ", ".join(f'"{key}" ({power})' for key, power in powers.items())
    return f"{profile.path}: {said} cannot be used, {reason}" if reason else None


def refusal(profile: Profile, kind: Format, objection: str) -> str:
    """The sentence for a task that asks for such a profile."""
    return f'{kind.word.capitalize()} "{profile.name}" cannot be used: {objection}'
