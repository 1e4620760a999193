"""Agents by name: a profile or a preset, which whoever names one need not know.

Where a profile is asked for, profiles come first; where a preset is, presets do.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pi_subagents.models import Profile
from pi_subagents.profiles.catalog import ProfileCatalog, load_presets, load_profiles
from pi_subagents.profiles.formats import PRESET, Format
from pi_subagents.text.wording import did_you_mean


@dataclass(frozen=True, slots=True)
class Agent:
    """What a name stands for, the kind of file that says so, and what is odd about that file."""

    profile: Profile
    kind: Format
    warnings: tuple[str, ...] = ()


def find_agent(name: str, first: Format, cwd: Path, agent_dir: Path) -> Agent:
    """The agent of that name; raises UnknownProfile, whose text lists those of the kind that was asked for.

    A file of the first kind that cannot be used is not passed over for one of the other kind.
    """
    catalogs = _catalogs(cwd, agent_dir, first)
    catalog = next((one for one in catalogs if one.knows(name)), None)
    if catalog is None:
        asked, other = catalogs
        hint = f" Available {other.kind.word}s: {', '.join(other.profiles)}." if other.profiles else ""
        raise asked.unknown(name, hint + did_you_mean(name, [*asked.profiles, *other.profiles]))
    return _agent(catalog.resolve(name), catalog)


def all_agents(cwd: Path, agent_dir: Path) -> list[Agent]:
    """Every agent that can be named, by name; a profile before a preset of the same name."""
    found = [_agent(profile, catalog) for catalog in _catalogs(cwd, agent_dir) for profile in catalog.profiles.values()]
    return sorted(found, key=lambda agent: agent.profile.name)


def _catalogs(cwd: Path, agent_dir: Path, first: Format | None = None) -> list[ProfileCatalog]:
    loaders = (load_presets, load_profiles) if first is PRESET else (load_profiles, load_presets)
    return [load(cwd, agent_dir) for load in loaders]


def _agent(profile: Profile, catalog: ProfileCatalog) -> Agent:
    return Agent(profile, catalog.kind, tuple(catalog.warnings_about(profile)))
