"""What `pi` needs in order to be launched, gathered from the place: credentials, the agent directory, trust."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.files import read_bounded
from pi_subagents.harness.contract import Launch
from pi_subagents.harness.pi.launch import COPILOT, PiNeeds

if TYPE_CHECKING:
    from pi_subagents.place import Place


def needs_of(launch: Launch) -> PiNeeds:
    """What `pi` must be told for this task."""
    place, profile = launch.place, launch.profile
    return PiNeeds(
        agent_dir=place.agent_dir,
        agent_dir_entries=_entries(place) if profile is not None and profile.api_key is not None else (),
        trusted=place.approval(launch.cwd),
        has_copilot=_has_copilot(place),
        version=launch.version() if profile is not None and profile.restricts_tools else None,
    )


def _entries(place: Place) -> tuple[str, ...]:
    return tuple(sorted(path.name for path in place.agent_dir.iterdir())) if place.agent_dir.is_dir() else ()


def _has_copilot(place: Place) -> bool:
    """Whether there is a credential with which `pi` could choose a model of GitHub Copilot's by itself."""
    if place.environ.get("COPILOT_GITHUB_TOKEN"):
        return True
    with suppress(OSError):
        return f'"{COPILOT}"'.encode() in read_bounded(place.agent_dir / "auth.json")
    return False
