"""Finds the files in a directory that may be skills, by the rules of `pi`.

A folder with a `SKILL.md` is one skill and is not searched further. Other folders are searched, hidden ones,
`node_modules` and ignored ones excepted. Plain Markdown files count only directly in a `skills` directory of
`pi`, and only below the top in an `.agents/skills` directory.
"""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import Literal

from pi_subagents.skills.patterns import IgnoreRules

Layout = Literal["pi", "agents"]


_MAX_FOLDERS = 2000
"""More than anybody has skills; a link may lead to a whole disk."""


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
    if any(entry.name == "SKILL.md" and _is_file(entry) for entry in entries) and not ignored.ignores(
        f"{prefix}SKILL.md"
    ):
        return [folder / "SKILL.md"]
    takes_files = (folder == root) == (layout == "pi")
    found: list[Path] = []
    for entry in entries:
        if entry.name.startswith(".") or entry.name == "node_modules":
            continue
        if _is_folder(entry):
            if not ignored.ignores(prefix + entry.name, is_folder=True):
                found += _scan(folder / entry.name, root, layout, ignored, above | {real}, folders)
            continue
        is_candidate = takes_files and entry.name.endswith(".md") and _is_file(entry)
        if is_candidate and not ignored.ignores(prefix + entry.name):
            found.append(folder / entry.name)
    return found


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
