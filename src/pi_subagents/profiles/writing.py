"""Saving and deleting profile files.

A file is replaced in one step or not at all, and only by text that reads back as the profile it was made from.
With an API key in it, the file is for its owner alone and so is its directory.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile
from pi_subagents.profiles.catalog import (
    UnknownProfile,
    invalidate_profiles_cache,
    presets_dir,
    profile_files,
    profiles_dir,
)
from pi_subagents.profiles.fields import FIELDS, NAME_RULE
from pi_subagents.profiles.formats import PRESET, PROFILE, Format
from pi_subagents.profiles.frontmatter import FrontmatterError
from pi_subagents.profiles.markdown import edit_markdown, profile_to_markdown
from pi_subagents.profiles.reading import ProfileFileError, Scope, parse_profile, read_profile, read_text
from pi_subagents.trees import Tree, explain


def tree_of(directory: Path, scope: Scope) -> Tree:
    """The tree that a directory of profiles, presets or prompts is in: the user's, or a project's with its `.pi`."""
    return Tree() if scope == "global" else Tree.of_project(directory.parents[1])


def save_profile(profile: Profile, scope: Scope, *, cwd: Path, agent_dir: Path, like: Path | None = None) -> Path:
    """Create the profile's file in a scope, or change in it what differs; raises ProfileError.

    A new file is a copy of `like`, if that is given, comments and all, with what differs changed.
    """
    profile = _tidy(profile)
    _check_name(profile.name)
    directory = profiles_dir(scope, cwd, agent_dir)
    path = find_profile_file(profile.name, directory) or directory / f"{profile.name}.md"
    text = _text(profile, path, like)
    _require_same(text, profile, path)
    try:
        _write(path, text, tree_of(directory, scope), is_private=profile.api_key is not None)
    except OSError as error:
        raise ProfileError(explain(error, path)) from error
    invalidate_profiles_cache()
    return path


def delete_profile(name: str, scope: Scope, *, cwd: Path, agent_dir: Path) -> Path:
    """Remove the file that holds the profile, a broken one too; raises UnknownProfile or ProfileError."""
    directory = profiles_dir(scope, cwd, agent_dir)
    path = find_profile_file(name, directory)
    if path is None:
        raise UnknownProfile(f'There is no {scope} profile "{name}" in {directory}')
    try:
        tree_of(directory, scope).forget(path)
    except OSError as error:
        raise ProfileError(explain(error, path)) from error
    invalidate_profiles_cache()
    return path


def create_preset(name: str, text: str, scope: Scope, *, cwd: Path, agent_dir: Path) -> Path:
    """Write the file of a preset that is not there yet; raises ProfileError."""
    _check_name(name)
    directory = presets_dir(scope, cwd, agent_dir)
    path = directory / f"{name}.md"
    other = find_profile_file(name, directory, PRESET)
    if other is not None or not write_new_file(path, text, scope):
        raise ProfileError(f'A preset "{name}" already exists: {other or path}')
    return path


def write_new_file(path: Path, text: str, scope: Scope) -> bool:
    """Write a file unless there is one of its name, which is left alone: then False; raises ProfileError."""
    try:
        is_new = tree_of(path.parent, scope).create(path, text.encode())
    except OSError as error:
        raise ProfileError(explain(error, path)) from error
    invalidate_profiles_cache()
    return is_new


def require_writable(path: Path, scope: Scope) -> None:
    """Raise ProfileError if what is at `path`, or on the way to it, is nothing to write to."""
    try:
        tree_of(path.parent, scope).status(path)
    except OSError as error:
        raise ProfileError(explain(error, path)) from error


def find_profile_file(name: str, directory: Path, kind: Format = PROFILE) -> Path | None:
    """The file in a directory that holds the profile; a broken file counts by its apparent or file name.

    Raises ProfileError when the directory cannot be read.
    """
    broken: Path | None = None
    found: Path | None = None
    for path in _list_files(directory):
        try:
            if read_profile(path, kind=kind)[0].name == name:
                found = path  # the last one is the one that loading takes
        except ProfileFileError as error:
            if name in (error.name_guess, path.stem):
                broken = path
    return found or broken


def _check_name(name: str | None) -> None:
    if not NAME_RULE.fullmatch(name or ""):
        raise ProfileError(f'the name "{name}" may only contain letters, digits, "-" and "_"')


def _list_files(directory: Path) -> list[Path]:
    try:
        return profile_files(directory)
    except OSError as error:
        raise ProfileError(f"{directory}: cannot be read ({error.strerror})") from error


def _text(profile: Profile, path: Path, like: Path | None) -> str:
    if path.exists():
        return _edited_text(path, profile)
    return edit_markdown(read_text(like), read_profile(like)[0], profile) if like else profile_to_markdown(profile)


def _edited_text(path: Path, profile: Profile) -> str:
    before, _warnings = read_profile(path)
    if before.name != profile.name:
        raise ProfileError(f'{path} already contains the profile "{before.name}"; rename or remove that file first')
    return edit_markdown(read_text(path), before, profile)


def _require_same(text: str, profile: Profile, path: Path) -> None:
    try:
        written = parse_profile(text.encode().decode(), path, None)
    except (FrontmatterError, UnicodeEncodeError) as error:
        raise ProfileError(f"{path}: the profile cannot be written: {error}") from None
    if written != msgspec.structs.replace(profile, path=path, scope=None):
        raise ProfileError(f"{path}: this file cannot be edited safely; edit it by hand")


def _tidy(profile: Profile) -> Profile:
    """The profile as reading its file will give it: empty values are unset, words are trimmed."""
    values: dict[str, Any] = {}
    for field in FIELDS:
        value = getattr(profile, field.attribute)
        if field.kind == "text" and isinstance(value, str):
            values[field.attribute] = (value if field.key == "appendSystemPrompt" else value.strip()) or None
        elif field.kind == "list" and value is not None:
            words = value if field.key == "extraArgs" else [word.strip() for word in value if word.strip()]
            values[field.attribute] = tuple(words) or None
    body = (profile.system_prompt or "").replace("\r\n", "\n").replace("\r", "\n").strip() or None
    return msgspec.structs.replace(profile, **values, system_prompt=body)


def _write(path: Path, text: str, tree: Tree, *, is_private: bool) -> None:
    like = tree.status(path)
    if is_private:
        with tree.folder(path.parent, make=0o700) as folder, suppress(PermissionError):
            os.fchmod(folder.fileno(), 0o700)  # not somebody else's directory; the file itself is closed
        tree.write(path, text.encode(), mode=0o600)
    else:
        tree.write(path, text.encode(), like=like)
