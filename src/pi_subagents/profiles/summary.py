"""A profile in the words people and models see: one line, or every field with the key masked."""

from __future__ import annotations

from textwrap import indent

from pi_subagents.models import Profile, Secret
from pi_subagents.profiles.fields import FIELDS, TIMEOUT
from pi_subagents.profiles.formats import PROFILE, Format

Shown = str | bool | float | list[str]


def profile_summary(profile: Profile, kind: Format = PROFILE) -> str:
    """The comma list of `list_subagent_profiles` and of a delegation's summary line."""
    return ", ".join(
        part
        for part in (
            f"{kind.word}: {profile.name}",
            _model(profile),
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
        value = getattr(profile, field.attribute)
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
        shown = ", ".join(value) if isinstance(value, list) else str(value)
        lines.append(f"{key}:\n{indent(shown, '  ')}" if "\n" in shown else f"{key}: {shown}")
    return "\n".join(lines)


def _model(profile: Profile) -> str:
    return _assign("model", profile.model) or _assign("provider", profile.provider)


def _tools(profile: Profile) -> str:
    if profile.no_tools:
        return "no-tools"
    return _bracket("tools", profile.tools) or _bracket("excludeTools", profile.exclude_tools)


def _assign(word: str, value: str | None) -> str:
    return f"{word}={value}" if value else ""


def _bracket(word: str, values: tuple[str, ...] | None) -> str:
    return f"{word}=[{','.join(values)}]" if values else ""
