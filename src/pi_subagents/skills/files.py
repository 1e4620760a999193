"""Skill files: those in a directory, by the rules of `pi`, and those of installed packages named in the settings.

A folder with a `SKILL.md` is one skill and is not searched further. Other folders are searched, hidden ones,
`node_modules` and ignored ones excepted. Plain Markdown files count only directly in a `skills` directory of
`pi`, and only below the top in an `.agents/skills` directory.

Nothing is installed and nothing is run: a package that `pi` has not brought yet has no skills here, and a
package that only exists in npm's global directory (an old place, known to npm alone) is not found.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from pi_subagents.files import read_bounded
from pi_subagents.skills.patterns import (
    SKILL_FILE,
    IgnoreRules,
    expand_braces,
    has_wildcard,
    is_override,
    matches_glob,
    select,
    select_delta,
)

Layout = Literal["pi", "agents"]


_MAX_FOLDERS = 2000
"""More than anybody has skills; a link may lead to a whole disk."""
_MAX_PATHS = 10_000
"""Of a package; links that lead back up would make endless ones."""
_HOSTS = {"github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org"}


def skill_files(directory: Path, layout: Layout = "pi") -> list[Path]:
    """Candidate files in a fixed order, without what cannot be read, and what comes after too many folders."""
    return _scan(directory, directory, layout, IgnoreRules(), frozenset(), count(1))


def _scan(
    folder: Path, root: Path, layout: Layout, ignored: IgnoreRules, above: frozenset[str], folders: count[int]
) -> list[Path]:
    real = os.path.realpath(folder)
    if real in above or next(folders) > _MAX_FOLDERS:  # a link that leads back up, or to everything
        return []
    prefix = "" if folder == root else f"{folder.relative_to(root).as_posix()}/"
    ignored.add_directory(folder, prefix)
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return []
    is_skill = any(entry.name == SKILL_FILE and _kind_of(entry) == "file" for entry in entries)
    if is_skill and not ignored.ignores(f"{prefix}{SKILL_FILE}"):
        return [folder / SKILL_FILE]
    takes_files = (folder == root) == (layout == "pi")
    found: list[Path] = []
    for entry in entries:
        if entry.name.startswith(".") or entry.name == "node_modules":
            continue
        kind = _kind_of(entry)
        if kind == "folder":
            if not ignored.ignores(prefix + entry.name, is_folder=True):
                found += _scan(folder / entry.name, root, layout, ignored, above | {real}, folders)
            continue
        is_candidate = takes_files and entry.name.endswith(".md") and kind == "file"
        if is_candidate and not ignored.ignores(prefix + entry.name):
            found.append(folder / entry.name)
    return found


def _kind_of(entry: os.DirEntry[str]) -> Literal["file", "folder", "other"]:
    try:
        return "folder" if entry.is_dir() else "file" if entry.is_file() else "other"
    except OSError:
        return "other"


def files_at(places: list[Path]) -> list[Path]:
    """Files as they are, directories searched."""
    return [
        file
        for place in places
        for file in ([place] if place.is_file() else skill_files(place) if place.is_dir() else [])
    ]


class Base(msgspec.Struct, frozen=True):
    """A scope's directory: the agent directory, or the project's `.pi`."""

    folder: Path
    home: Path
    is_project: bool

    def resolve(self, text: str) -> Path:
        """A path from the settings; `~`, `file://` and relative paths are understood."""
        text = text.strip()
        if text.startswith("file://"):
            text = urlsplit(text).path
        path = self.home / text[2:] if text.startswith("~/") else self.home if text == "~" else Path(text)
        return normalize(self.folder / path)


def normalize(path: Path) -> Path:
    """The absolute path without `.` and `..`, links left as they are."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve() would follow links


def read_json_object(path: Path, within: Path | None = None) -> dict[str, Any]:
    """A JSON object, or an empty one when there is none to read, or only through a link out of `within`."""
    try:
        text = read_bounded(path, within=within).decode("utf-8", errors="replace")
        document = json.loads(text.removeprefix("\ufeff"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def texts(value: object) -> list[str]:
    """The texts of a JSON list, nothing for anything else."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


class Package(msgspec.Struct, frozen=True):
    """An entry of `packages`: where it is, whether that exists or not, and which of its skills the user wants.

    The identity is the same for two entries that mean the same package, in whichever scope and version.
    """

    root: Path
    identity: str
    filters: dict[str, Any] | None

    @property
    def is_delta(self) -> bool:
        """Whether the entry only switches single files of the same package in the global settings."""
        return self.filters is not None and self.filters.get("autoload") is False


def read_packages(entries: object, base: Base) -> list[Package]:
    """The packages of one settings file."""
    found = []
    for entry in entries if isinstance(entries, list) else []:
        source = entry.get("source") if isinstance(entry, dict) else entry
        if isinstance(source, str):
            with suppress(ValueError):  # it is no address at all
                found.append(Package(*_address(source, base), entry if isinstance(entry, dict) else None))
    return found


def _address(source: str, base: Base) -> tuple[Path, str]:
    """The root and the identity of a package."""
    if source.startswith("npm:"):
        name = re.match(r"@?[^@]+", source.removeprefix("npm:").strip())
        root = base.folder / "npm" / "node_modules" / (name.group() if name else "")
    elif git := _git_place(source):
        root = base.folder / "git" / git
    else:
        root = base.resolve(source)
        return root, str(root)
    return root, str(root.relative_to(base.folder))


def package_skills(project: list[Package], user: list[Package]) -> list[tuple[Path, bool]]:
    """Every skill file of the packages, and whether it is switched on; the first mention of a file counts."""
    projects = {package.identity: package for package in project}
    users = {package.identity: package for package in reversed(user)}
    found: list[tuple[Path, bool]] = []
    for identity, package in projects.items():
        original = users.get(identity) if package.is_delta else None
        found += _skills_of(package, (original or package).root)
    for package in user:
        stands_in = projects.get(package.identity)
        if users[package.identity] is package and (stands_in is None or stands_in.is_delta):
            found += _skills_of(package, package.root)
    return found


def _skills_of(package: Package, root: Path) -> list[tuple[Path, bool]]:
    if not root.is_dir():
        return []
    wanted = (package.filters or {}).get("skills")
    files = _offered(root, has_filters=package.filters is not None, is_chosen=wanted is not None)
    if package.is_delta:
        return list(select_delta(files, texts(wanted), root).items())
    if wanted is None:
        return [(file, True) for file in files]
    chosen = select(files, texts(wanted), root) if wanted else []
    return [(file, file in chosen) for file in files]


def _offered(root: Path, *, has_filters: bool, is_chosen: bool) -> list[Path]:
    """What the package offers: its manifest's entries, else its `skills` directory.

    A manifest without skills closes that directory, but not for a user who wrote filters.
    """
    manifest = read_json_object(root / "package.json").get("pi")
    entries = _manifest_entries(manifest)
    if entries is None and isinstance(manifest, dict) and not has_filters:
        return []
    if entries is None or (is_chosen and not entries):
        return skill_files(root / "skills")
    places = [path for entry in entries if not is_override(entry) for path in _expand(entry, root)]
    return select(files_at(places), [entry for entry in entries if is_override(entry)], root)


def _manifest_entries(manifest: object) -> list[str] | None:
    entries = manifest.get("skills") if isinstance(manifest, dict) else None
    return entries if isinstance(entries, list) and texts(entries) == entries else None


def _expand(entry: str, root: Path) -> list[Path]:
    if not has_wildcard(entry):
        return [normalize(root / entry)]
    patterns = [pattern.removeprefix("./") for pattern in expand_braces(entry)]
    # As in Node's glob: `**` also stands for no folder at all, and does not go through links.
    patterns += [pattern.removesuffix("**").rstrip("/") for pattern in patterns if pattern.endswith("**")]
    deep = "**" in entry
    levels = sys.maxsize if deep else max(pattern.count("/") for pattern in patterns)
    paths = islice(_visible_paths(root, "", levels, through_links=not deep), _MAX_PATHS)
    matches = [path for path in paths if any(matches_glob(path, pattern) for pattern in patterns)]
    return sorted((normalize(root / match) for match in matches), key=str)


def _visible_paths(root: Path, folder: str, levels: int, *, through_links: bool) -> Iterator[str]:
    yield folder
    place = root / folder
    try:
        if levels < 0 or not place.is_dir() or (folder and place.is_symlink() and not through_links):
            return
        names = [path.name for path in place.iterdir()]
    except OSError:
        return
    for name in names:
        if not name.startswith("."):
            yield from _visible_paths(root, f"{folder}/{name}".lstrip("/"), levels - 1, through_links=through_links)


def _git_place(source: str) -> str | None:
    """`host/owner/repository` of a git source, None for a local path."""
    text = source.strip()
    if text.startswith("git:"):
        text = text.removeprefix("git:").strip()
    elif not re.match(r"(https?|ssh|git)://", text, re.IGNORECASE):
        return None
    if found := re.match(r"git@([^:]+):(.+)$", text):
        host, path = found.groups()
    elif "://" in text:
        parts = urlsplit(text)
        host, path = parts.hostname or "", parts.path.lstrip("/")
    elif found := re.match(r"(github|gitlab|bitbucket):(.+)$", text):
        host, path = _HOSTS[found.group(1)], found.group(2)
    else:
        host, _, path = text.partition("/")
        if "." not in host and host != "localhost":
            host, path = "github.com", text
    path = re.split(r"[@#]", path, maxsplit=1)[0].rstrip("/").removesuffix(".git")
    if not host or "/" not in path or ".." in path.split("/"):
        return None
    return f"{host}/{path}"
