"""What a profile or preset may do that only a trusted file can make an agent do."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.models import Profile
from pi_subagents.profiles.fields import FIELDS
from pi_subagents.profiles.formats import Format
from pi_subagents.trust import FIELDS as CLASSES
from pi_subagents.trust import Trust


def powers_of(profile: Profile) -> dict[str, str]:
    """The powers that a profile uses, by the key in its file, each with what it does."""
    return {
        field.key: power
        for field in FIELDS
        if (power := CLASSES[field.key]) is not None and getattr(profile, field.attribute) not in (None, False, ())
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
