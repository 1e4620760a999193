"""Finds the skills that `pi` would find, lets the same one win when two have a name, and gives them to an agent.

Order of precedence: the project's settings, the project's directories, the user's settings, the user's
directories, packages. A skill needs a description; its name is the one it gives itself, else its folder's.
Whether a project's skills count is the caller's decision: it knows whom it trusts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.errors import ProfileError
from pi_subagents.files import is_below, read_bounded
from pi_subagents.models import Profile
from pi_subagents.paths import home_dir, is_part_of
from pi_subagents.profiles.frontmatter import Effort, FrontmatterError, Scalar, parse_frontmatter, split_frontmatter
from pi_subagents.skills.files import (
    Base,
    Layout,
    files_at,
    normalize,
    package_skills,
    read_json_object,
    read_packages,
    skill_files,
    texts,
)
from pi_subagents.skills.patterns import SKILL_FILE, has_wildcard, is_override, select
from pi_subagents.text.wording import did_you_mean


class Skill(msgspec.Struct, frozen=True):
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
    cwd: Path, agent_dir: Path, *, home: Path | None = None, of_project: bool = True
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
    scalars = ((entry.key, entry.value) for entry in entries if isinstance(entry.value, Scalar))
    values = {key: scalar.text for key, scalar in scalars if scalar.kind == "text"}
    description = values.get("description", "")
    if not description.strip():
        return None
    return Skill(values.get("name") or path.parent.name, path, description)


def _read(path: Path) -> str:
    return read_bounded(path).decode("utf-8", errors="replace")


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


def resolve_skills(profile: Profile, skills: Mapping[str, Skill], *, by_path: bool = True) -> Profile:
    """The profile with paths for names and loaded skills in its appended prompt; raises UnknownSkill.

    Without `by_path` the agent program does not know skills: suggested ones are described in the prompt, too. Those
    without a folder of their own are loaded, as the agent could be given no place to read them.
    """
    if not needs_skills(profile):
        return profile
    suggested, loaded = profile.suggested_skills or (), profile.load_skills or ()
    _require([*suggested, *loaded], skills)
    offered = {name: skills[name].path for name in suggested}
    if not by_path:
        offered = {name: path for name in suggested if (path := _in_own_folder(skills[name]))}
        loaded = (*loaded, *(name for name in suggested if name not in offered and name not in loaded))
    parts = [_wrap(skills[name]) for name in loaded]
    if offered and not by_path:
        parts.append(_describe([msgspec.structs.replace(skills[name], path=path) for name, path in offered.items()]))
    if parts and profile.append_system_prompt:
        parts.insert(0, profile.append_system_prompt.rstrip("\n"))
    return msgspec.structs.replace(
        profile,
        suggested_skills=tuple(map(str, offered.values())) or None,
        append_system_prompt="\n\n".join(parts) if parts else profile.append_system_prompt,
        load_skills=None,
    )


def _in_own_folder(skill: Skill) -> Path | None:
    """Where the skill really is, if that is a folder of its own: agents resolve links before they check permissions."""
    path = Path(os.path.realpath(skill.path))
    folder = Path(os.path.realpath(skill.path.parent))
    return path if path == folder / SKILL_FILE else None


def _require(names: list[str], skills: Mapping[str, Skill]) -> None:
    unknown = [name for name in dict.fromkeys(names) if name not in skills]
    if unknown:
        quoted = ", ".join(f'"{name}"' for name in unknown)
        available = ", ".join(sorted(skills)) or "(none)"
        hint = did_you_mean(unknown[0], skills) if len(unknown) == 1 else ""
        raise UnknownSkill(f"Unknown skills: {quoted}. Available skills: {available}", hint)


def _describe(skills: Sequence[Skill]) -> str:
    told = "\n".join(
        f"  <skill>\n    <name>{escape(skill.name)}</name>\n"
        f"    <description>{escape(skill.description)}</description>\n"
        f"    <location>{escape(str(skill.path))}</location>\n  </skill>"
        for skill in skills
    )
    return (
        "These skills contain instructions for particular tasks. If your task matches the description of one, read its "
        f"file; relative paths in it start at its folder.\n\n<available_skills>\n{told}\n</available_skills>"
    )


def _wrap(skill: Skill) -> str:
    try:
        body = skill.read_body()
    except OSError as error:
        raise UnknownSkill(f'Skill "{skill.name}" cannot be read: {skill.path} ({error.strerror})') from None
    return f'<loaded_skill name="{skill.name}">\n{body}\n</loaded_skill>'
