"""Finds the files in a directory that may be skills, by the rules of `pi`.

A folder with a `SKILL.md` is one skill and is not searched further. Other folders are searched, hidden ones,
`node_modules` and ignored ones excepted. Plain Markdown files count only directly in a `skills` directory of
`pi`, and only below the top in an `.agents/skills` directory.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pi_subagents.skills.patterns import IgnoreRules

Layout = Literal["pi", "agents"]


def skill_files(directory: Path, layout: Layout = "pi") -> list[Path]:
    """Candidate files in a fixed order; what cannot be read is left out."""
    return _scan(directory, directory, layout, IgnoreRules(), frozenset())


def _scan(folder: Path, root: Path, layout: Layout, ignored: IgnoreRules, above: frozenset[str]) -> list[Path]:
    real = os.path.realpath(folder)
    if real in above:  # a link that leads back up
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
                found += _scan(folder / entry.name, root, layout, ignored, above | {real})
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
