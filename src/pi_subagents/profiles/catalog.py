"""All profiles a caller can name: the global directory, then the project's, which overrides by name.

A broken file is kept as a finding beside the good ones and never hides them. Loading is cached for five
seconds per project and agent directory; saving and deleting a profile drop the cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile
from pi_subagents.paths import project_root
from pi_subagents.profiles.reading import ProfileFileError, Scope, read_profile

CACHE_TTL_S = 5.0


class UnknownProfile(ProfileError):  # noqa: N818 - reads as a sentence where it is raised
    """No usable profile has the name; only the task that asked for it fails."""


@dataclass(frozen=True, slots=True)
class BrokenProfile:
    """A profile file that could not be used."""

    path: Path
    name_guess: str
    line: int
    message: str
    scope: Scope

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"

    def answers_to(self, name: str) -> bool:
        """Whether somebody who asks for `name` means this file."""
        return name in (self.name_guess, self.path.stem)


@dataclass(frozen=True, slots=True)
class ProfileCatalog:
    """What loading found; treat it as read-only, it is shared by everybody within the cache's time."""

    profiles: dict[str, Profile] = field(default_factory=dict)
    broken: list[BrokenProfile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def resolve(self, name: str) -> Profile:
        """The profile with that name; raises UnknownProfile, which for a broken file says what is wrong.

        A broken project file counts even where a global profile has its name: falling back to that one would
        run an agent with settings that the project meant to replace.
        """
        profile = self.profiles.get(name)
        for finding in self.broken:
            overridden = profile is not None and (finding.scope == "global" or profile.scope == "project")
            if finding.answers_to(name) and not overridden:
                raise UnknownProfile(f'Profile "{name}" cannot be used: {finding}')
        if profile is None:
            available = ", ".join(self.profiles) or "(none)"
            raise UnknownProfile(f'Unknown profile: "{name}". Available profiles: {available}')
        return profile


def profiles_dir(scope: Scope, cwd: Path, agent_dir: Path) -> Path:
    """Where the profiles of a scope are."""
    base = agent_dir if scope == "global" else project_root(cwd, agent_dir) / ".pi"
    return base / "agent-profiles"


_cache: dict[tuple[Path, Path], tuple[float, ProfileCatalog]] = {}


def load_profiles(cwd: Path, agent_dir: Path, *, now: Callable[[], float] = time.monotonic) -> ProfileCatalog:
    """All profiles visible from `cwd`, at most five seconds old; never raises for a broken file."""
    moment = now()
    key = (project_root(cwd, agent_dir), agent_dir.absolute())
    cached = _cache.get(key)
    if cached and 0 <= moment - cached[0] < CACHE_TTL_S:
        return cached[1]
    catalog = _load(cwd, agent_dir)
    for stale in [other for other, (loaded, _) in _cache.items() if moment - loaded >= CACHE_TTL_S]:
        del _cache[stale]
    _cache[key] = (moment, catalog)
    return catalog


def invalidate_profiles_cache() -> None:
    """Make the next load read the files again."""
    _cache.clear()


def _load(cwd: Path, agent_dir: Path) -> ProfileCatalog:
    catalog = ProfileCatalog()
    scopes: tuple[Scope, ...] = ("global", "project")
    for scope in scopes:
        directory = profiles_dir(scope, cwd, agent_dir)
        try:
            paths = profile_files(directory)
        except OSError as error:
            catalog.warnings.append(f"{directory}: cannot be read ({error.strerror})")
            continue
        for path in paths:
            _add_file(path, scope, catalog)
    names = sorted(catalog.profiles)
    return ProfileCatalog({name: catalog.profiles[name] for name in names}, catalog.broken, catalog.warnings)


def profile_files(directory: Path) -> list[Path]:
    """The files of a directory that should be profiles, by name; raises OSError when it cannot be listed."""
    try:
        entries = sorted(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [path for path in entries if path.suffix == ".md" and not path.name.startswith(".")]


def _add_file(path: Path, scope: Scope, catalog: ProfileCatalog) -> None:
    try:
        profile, warnings = read_profile(path, scope)
    except ProfileFileError as error:
        catalog.broken.append(BrokenProfile(path, error.name_guess, error.line, error.sentence, scope))
        return
    catalog.warnings.extend(warnings)
    other = catalog.profiles.get(profile.name)
    if other is not None and other.scope == scope and other.path is not None:
        catalog.warnings.append(f'{path}:1: profile "{profile.name}" replaces the one in {other.path.name}')
    catalog.profiles[profile.name] = profile
