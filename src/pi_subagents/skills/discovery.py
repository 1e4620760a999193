"""Finds the skills that `pi` would find, and lets the same one win when two have a name.

Order of precedence: the project's settings, the project's directories, the user's settings, the user's
directories, packages. A skill needs a description; its name is the one it gives itself, else its folder's.
Whether a project's skills count is the caller's decision: it knows whom it trusts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pi_subagents.files import is_below, read_bounded
from pi_subagents.paths import home_dir, is_part_of
from pi_subagents.profiles.frontmatter import (
    Effort,
    Entry,
    FrontmatterError,
    Scalar,
    parse_frontmatter,
    split_frontmatter,
)
from pi_subagents.skills.packages import (
    Base,
    files_at,
    normalize,
    package_skills,
    read_json_object,
    read_packages,
    texts,
)
from pi_subagents.skills.patterns import has_wildcard, is_override, select
from pi_subagents.skills.scanning import Layout, skill_files


@dataclass(frozen=True, slots=True)
class Skill:
    """Instructions for a kind of task, kept in a Markdown file."""

    name: str
    path: Path
    description: str

    def read_body(self) -> str:
        """The instructions without the frontmatter; raises OSError."""
        return split_frontmatter(_read(self.path)).body.strip()


Candidates = dict[Path, tuple[int, bool]]
"""Each file with its rank, lower first, and whether it is switched on; the first mention counts."""


def discover_skills(
    cwd: Path,
    agent_dir: Path,
    *,
    home: Path | None = None,
    of_project: bool = True,
) -> dict[str, Skill]:
    """The skills that an agent started in `cwd` can be given, by name. Reads files; raises SettingsError.

    `of_project`: those that the project has or names count too, and before the user's own.
    """
    home = normalize(home or home_dir())
    user = Base(normalize(agent_dir), home, is_project=False)
    project = Base(normalize(cwd) / ".pi", home, is_project=True)
    bases = [project, user] if of_project else [user]
    settings = {
        base: read_json_object(base.folder / "settings.json", base.folder.parent if base.is_project else None)
        for base in bases
    }
    packages = {base: read_packages(settings[base].get("packages"), base) for base in bases}

    found: Candidates = {}
    for file, is_on in package_skills(packages.get(project, []), packages[user]):
        found.setdefault(file, (4, is_on))
    for base in bases:
        _add_from_settings(found, _settings_entries(settings[base]), base)
    for base in bases:
        _add_from_directories(found, _settings_entries(settings[base]), base)
    return _load(found)


def _settings_entries(settings: dict[str, Any]) -> list[str]:
    skills = settings.get("skills")
    return texts(skills.get("customDirectories") if isinstance(skills, dict) else skills)


def _add_from_settings(found: Candidates, entries: list[str], base: Base) -> None:
    patterns = [entry for entry in entries if is_override(entry) or has_wildcard(entry)]
    files = files_at(list(_places([entry for entry in entries if entry not in patterns], base)))
    chosen = select(files, patterns, base.folder)
    for file in files:
        found.setdefault(file, (0 if base.is_project else 2, file in chosen))


def _places(entries: list[str], base: Base) -> Iterator[Path]:
    for entry in entries:
        with suppress(ValueError):  # it is no path and no address
            yield base.resolve(entry)


def _add_from_directories(found: Candidates, entries: list[str], base: Base) -> None:
    overrides = [entry for entry in entries if is_override(entry)]
    for directory, layout in _directories(base):
        files = skill_files(directory, layout)
        chosen = select(files, overrides, directory.parent)
        for file in files:
            found.setdefault(file, (1 if base.is_project else 3, file in chosen))


def _directories(base: Base) -> list[tuple[Path, Layout]]:
    users_own = base.home / ".agents" / "skills"
    if not base.is_project:
        return [(base.folder / "skills", "pi"), (users_own, "agents")]
    above = _up_to_repository(base.folder.parent)
    shared = [folder / ".agents" / "skills" for folder in above if is_part_of(folder, folder / ".agents")]
    found: list[tuple[Path, Layout]] = [
        (base.folder / "skills", "pi"),
        *((directory, "agents") for directory in shared if directory != users_own),
    ]
    # A link out of the project would have us search whatever it leads to.
    return [(directory, layout) for directory, layout in found if is_below(directory, directory.parent.parent)]


def _up_to_repository(folder: Path) -> list[Path]:
    folders = [folder, *folder.parents]
    for count, candidate in enumerate(folders, start=1):
        if (candidate / ".git").exists():
            return folders[:count]
    return folders


def _load(found: Candidates) -> dict[str, Skill]:
    skills: dict[str, Skill] = {}
    seen: set[str] = set()
    efforts: dict[int, Effort] = {}
    for path, (rank, is_on) in sorted(found.items(), key=lambda item: item[1][0]):
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        effort = efforts.setdefault(rank, Effort())  # a project's skills do not use up what is meant for the user's own
        skill = _read_skill(path, effort) if is_on and path.suffix == ".md" else None
        if skill:
            skills.setdefault(skill.name, skill)
    return skills


def _read_skill(path: Path, effort: Effort) -> Skill | None:
    try:
        frontmatter = split_frontmatter(_read(path)).frontmatter or ""
        effort.spend(frontmatter)
        entries = parse_frontmatter(frontmatter)
    except (OSError, FrontmatterError):
        return None
    values = {entry.key: _text(entry) for entry in entries}
    description = values.get("description") or ""
    if not description.strip():
        return None
    return Skill(values.get("name") or path.parent.name, path, description)


def _text(entry: Entry) -> str | None:
    return entry.value.text if isinstance(entry.value, Scalar) and entry.value.kind == "text" else None


def _read(path: Path) -> str:
    return read_bounded(path).decode("utf-8", errors="replace")
