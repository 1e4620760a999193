"""What a profile's skill names mean for its run: paths to suggest, or text for the system prompt."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile
from pi_subagents.skills.discovery import Skill
from pi_subagents.text.wording import did_you_mean


class UnknownSkill(ProfileError):  # noqa: N818 - reads as a sentence where it is raised
    """A profile names a skill that cannot be given; only the task that uses the profile fails. `hint` is for people."""

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.hint = hint


def check_skills(profile: Profile) -> None:
    """Raise ProfileError when a profile both wants skills and forbids them."""
    if not profile.no_skills:
        return
    if profile.suggested_skills:
        raise ProfileError(
            f'Profile "{profile.name}" has both "suggestedSkills" and "noSkills" set. '
            "These are mutually exclusive — --no-skills would override --skill flags."
        )
    if profile.load_skills:
        raise ProfileError(
            f'Profile "{profile.name}" has both "loadSkills" and "noSkills" set. '
            "These are mutually exclusive — --no-skills disables skill discovery."
        )


def needs_skills(profile: Profile) -> bool:
    """Whether discovery is needed at all."""
    return bool(profile.suggested_skills or profile.load_skills)


def resolve_skills(profile: Profile, skills: Mapping[str, Skill]) -> Profile:
    """The profile with paths for names and loaded skills in its appended prompt; raises UnknownSkill."""
    if not needs_skills(profile):
        return profile
    suggested, loaded = profile.suggested_skills or (), profile.load_skills or ()
    _require([*suggested, *loaded], skills)
    parts = [_wrap(skills[name]) for name in loaded]
    if parts and profile.append_system_prompt:
        parts.insert(0, profile.append_system_prompt.rstrip("\n"))
    return msgspec.structs.replace(
        profile,
        suggested_skills=tuple(str(skills[name].path) for name in suggested) or None,
        append_system_prompt="\n\n".join(parts) if parts else profile.append_system_prompt,
        load_skills=None,
    )


def _require(names: list[str], skills: Mapping[str, Skill]) -> None:
    unknown = [name for name in dict.fromkeys(names) if name not in skills]
    if unknown:
        quoted = ", ".join(f'"{name}"' for name in unknown)
        available = ", ".join(sorted(skills)) or "(none)"
        hint = did_you_mean(unknown[0], skills) if len(unknown) == 1 else ""
        raise UnknownSkill(f"Unknown skills: {quoted}. Available skills: {available}", hint)


def _wrap(skill: Skill) -> str:
    try:
        body = skill.read_body()
    except OSError as error:
        raise UnknownSkill(f'Skill "{skill.name}" cannot be read: {skill.path} ({error.strerror})') from None
    return f'<loaded_skill name="{skill.name}">\n{body}\n</loaded_skill>'
