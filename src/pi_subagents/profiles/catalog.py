"""All profiles, or all presets, that a caller can name: the global ones, then the project's, which override by name.

A broken file is kept as a finding beside the good ones and never hides them. Loading is cached for five
seconds per project and agent directory; saving and deleting a profile drop the cache.

Whoever names an agent need not know whether it is a profile or a preset: where a profile is asked for, profiles come
first; where a preset is, presets do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile
from pi_subagents.paths import ancestors, is_part_of, project_root
from pi_subagents.profiles.fields import PRESET, PROFILE, Format
from pi_subagents.profiles.frontmatter import Effort
from pi_subagents.profiles.reading import ProfileFileError, Scope, read_profile
from pi_subagents.text.wording import did_you_mean

CACHE_TTL_S = 5.0
MAX_FILES = 1000
"""Of one directory; more than anybody could tell apart."""


class UnknownProfile(ProfileError):  # noqa: N818 - reads as a sentence where it is raised
    """No usable profile has the name; only the task that asked for it fails. `hint` asks what was meant, for people."""

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.hint = hint


class ProfileCatalog(msgspec.Struct, frozen=True):
    """What loading found; treat it as read-only, it is shared by everybody within the cache's time."""

    profiles: dict[str, Profile] = msgspec.field(default_factory=dict)
    broken: list[ProfileFileError] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)
    kind: Format = PROFILE

    def resolve(self, name: str) -> Profile:
        """The profile with that name; raises UnknownProfile, which for a broken file says what is wrong.

        A broken project file counts even where a global profile has its name: falling back to that one would
        run an agent with settings that the project meant to replace.
        """
        profile = self.profiles.get(name)
        for finding in self.broken:
            overridden = profile is not None and (finding.scope == "global" or profile.scope == "project")
            if finding.answers_to(name) and not overridden:
                raise UnknownProfile(f'{self.kind.word.capitalize()} "{name}" cannot be used: {finding}')
        if profile is None:
            raise self.unknown(name)
        return profile

    def knows(self, name: str) -> bool:
        """Whether there is a file that somebody who asks for `name` means, usable or not."""
        return name in self.profiles or any(finding.answers_to(name) for finding in self.broken)

    def unknown(self, name: str, hint: str = "") -> UnknownProfile:
        """The error that nothing here has the name."""
        word, available = self.kind.word, ", ".join(self.profiles) or "(none)"
        return UnknownProfile(f'Unknown {word}: "{name}". Available {word}s: {available}', hint)

    def warnings_about(self, profile: Profile) -> list[str]:
        """What was odd in the file of a profile, though it can be used."""
        return [warning for warning in self.warnings if warning.startswith(f"{profile.path}:")]


def profiles_dir(scope: Scope, cwd: Path, agent_dir: Path) -> Path:
    """Where the profiles of a scope are."""
    base = agent_dir if scope == "global" else project_root(cwd, agent_dir) / ".pi"
    return base / PROFILE.folder


def presets_dir(scope: Scope, cwd: Path, agent_dir: Path) -> Path:
    """Where the presets of a scope are: a project's in the nearest directory above that holds one.

    `.pi/subagents` is also where runs are kept, so that it exists says nothing.
    """
    if scope == "global":
        return agent_dir / PRESET.folder
    for folder in ancestors(cwd):
        directory = folder / ".pi" / PRESET.folder
        if is_part_of(folder, folder / ".pi") and _holds_files(directory):
            return directory
    return project_root(cwd, agent_dir) / ".pi" / PRESET.folder


def _holds_files(directory: Path) -> bool:
    try:
        return bool(profile_files(directory))
    except OSError:
        return True  # what cannot be looked into is reported by loading it, not passed over


_DIRECTORIES = {"profile": profiles_dir, "preset": presets_dir}
_cache: dict[tuple[str, Path, Path], tuple[float, ProfileCatalog]] = {}
_changing = threading.Lock()
"""The checks of `doctor` load from several threads."""


def load_profiles(cwd: Path, agent_dir: Path, *, now: Callable[[], float] = time.monotonic) -> ProfileCatalog:
    """All profiles visible from `cwd`, at most five seconds old; never raises for a broken file."""
    return _load_cached(PROFILE, cwd, agent_dir, now())


def load_presets(cwd: Path, agent_dir: Path, *, now: Callable[[], float] = time.monotonic) -> ProfileCatalog:
    """All presets visible from `cwd`, at most five seconds old; never raises for a broken file."""
    return _load_cached(PRESET, cwd, agent_dir, now())


def _load_cached(kind: Format, cwd: Path, agent_dir: Path, moment: float) -> ProfileCatalog:
    directory = _DIRECTORIES[kind.word]
    folders: dict[Scope, Path] = {
        "global": directory("global", cwd, agent_dir).absolute(),
        "project": directory("project", cwd, agent_dir),
    }
    key = (kind.word, folders["global"], folders["project"])
    cached = _cache.get(key)
    if cached and 0 <= moment - cached[0] < CACHE_TTL_S:
        return cached[1]
    catalog = _load(kind, folders)
    with _changing:
        for stale in [other for other, (loaded, _) in _cache.items() if moment - loaded >= CACHE_TTL_S]:
            del _cache[stale]
        _cache[key] = (moment, catalog)
    return catalog


def invalidate_profiles_cache() -> None:
    """Make the next load read the files again."""
    with _changing:
        _cache.clear()


def _load(kind: Format, folders: dict[Scope, Path]) -> ProfileCatalog:
    catalog = ProfileCatalog(kind=kind)
    for scope, directory in folders.items():
        try:
            paths = profile_files(directory)
        except OSError as error:
            catalog.warnings.append(f"{directory}: cannot be read ({error.strerror})")
            continue
        if len(paths) > MAX_FILES:
            catalog.warnings.append(f"{directory}: has {len(paths):,} files; only the first {MAX_FILES:,} are read")
        effort = Effort()
        for path in paths[:MAX_FILES]:
            _add_file(path, scope, catalog, effort)
    names = sorted(catalog.profiles)
    return msgspec.structs.replace(catalog, profiles={name: catalog.profiles[name] for name in names})


def profile_files(directory: Path) -> list[Path]:
    """The files of a directory that should be profiles, by name; raises OSError when it cannot be listed."""
    try:
        entries = sorted(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [path for path in entries if path.suffix == ".md" and not path.name.startswith(".")]


def _add_file(path: Path, scope: Scope, catalog: ProfileCatalog, effort: Effort) -> None:
    try:
        profile, warnings = read_profile(path, scope, catalog.kind, effort)
    except ProfileFileError as error:
        error.scope = scope
        catalog.broken.append(error.with_traceback(None))
        return
    catalog.warnings.extend(warnings)
    other = catalog.profiles.get(profile.name)
    if other is not None and other.scope == scope and other.path is not None:
        word = catalog.kind.word
        catalog.warnings.append(f'{path}:1: {word} "{profile.name}" replaces the one in {other.path.name}')
    catalog.profiles[profile.name] = profile


class Agent(msgspec.Struct, frozen=True):
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
