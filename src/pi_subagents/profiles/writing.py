"""Saving and deleting profile files: new from their fields, or an existing text with single fields changed.

A file is replaced in one step or not at all, and only by text that reads back as the profile it was made from.
With an API key in it, the file is for its owner alone and so is its directory.

Editing replaces only the lines of what changed. Comments, order, quoting and unknown keys stay as they are,
which a YAML emitter would not promise; new fields go to the end of the frontmatter.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile, Secret
from pi_subagents.profiles.catalog import (
    UnknownProfile,
    invalidate_profiles_cache,
    presets_dir,
    profile_files,
    profiles_dir,
)
from pi_subagents.profiles.fields import FIELDS, NAME_RULE, PRESET, PROFILE, Field, Format
from pi_subagents.profiles.frontmatter import FENCE, FrontmatterError, compose_frontmatter, split_frontmatter
from pi_subagents.profiles.reading import ProfileFileError, Scope, parse_profile, read_profile, read_text
from pi_subagents.text.patterns import pattern
from pi_subagents.trees import Tree, explain

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

# Words that every reader of YAML takes for text without quotes; numbers are left to the quotes.
_PLAIN = pattern(r"(?!(true|false|null)$)(-{1,2}|[./])?[A-Za-z_][\w./:@+-]*(?<!:)", re.ASCII | re.IGNORECASE)
_UNPRINTABLE = pattern(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ufeff\u2028\u2029]")


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
    with _changing(path):
        _write(path, text, tree_of(directory, scope), is_private=profile.api_key is not None)
    return path


def delete_profile(name: str, scope: Scope, *, cwd: Path, agent_dir: Path) -> Path:
    """Remove the file that holds the profile, a broken one too; raises UnknownProfile or ProfileError."""
    directory = profiles_dir(scope, cwd, agent_dir)
    path = find_profile_file(name, directory)
    if path is None:
        raise UnknownProfile(f'There is no {scope} profile "{name}" in {directory}')
    with _changing(path):
        tree_of(directory, scope).forget(path)
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
    with _changing(path):
        return tree_of(path.parent, scope).create(path, text.encode())


def require_writable(path: Path, scope: Scope) -> None:
    """Raise ProfileError if what is at `path`, or on the way to it, is nothing to write to."""
    with _changing(path):
        tree_of(path.parent, scope).status(path)


@contextmanager
def _changing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ProfileError(explain(error, path)) from error
    finally:
        invalidate_profiles_cache()


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
            if error.answers_to(name):
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
    source = path if path.exists() else like
    if source is None:
        return profile_to_markdown(profile)
    before, _warnings = read_profile(source)
    if source == path and before.name != profile.name:
        raise ProfileError(f'{path} already contains the profile "{before.name}"; rename or remove that file first')
    return edit_markdown(read_text(source), before, profile)


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
        value = field.of(profile)
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


def profile_to_markdown(profile: Profile) -> str:
    """The text of a new file, the API key included: it is meant for the disk, not for people."""
    lines = [_entry(field, value) for field in FIELDS if _is_set(value := field.of(profile))]
    return _join("\n".join(lines), _body_text(profile))


def edit_markdown(text: str, before: Profile, after: Profile) -> str:
    """`text`, which reads as `before`, with the fields changed in which `after` differs."""
    split = split_frontmatter(text)
    changed = [field for field in FIELDS if field.of(before) != field.of(after)]
    frontmatter = _edit_frontmatter(split.frontmatter or "", changed, after)
    body = split.body if before.system_prompt == after.system_prompt else _body_text(after)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    return mark + _join(frontmatter, body).replace("\n", "\r\n" if "\r\n" in text else "\n")


def _join(frontmatter: str, body: str) -> str:
    return f"{FENCE}\n{frontmatter}\n{FENCE}\n{body}"


def _body_text(profile: Profile) -> str:
    return f"\n{profile.system_prompt}\n" if profile.system_prompt else ""


def _edit_frontmatter(text: str, changed: list[Field], profile: Profile) -> str:
    root = compose_frontmatter(text)
    places = {key.value: (key, value) for key, value in root.value} if root is not None else {}
    lines = text.split("\n")
    # From the end of the file, so that the places of the others stay right.
    present = [field for field in changed if field.key in places]
    for field in sorted(present, key=lambda field: int(places[field.key][0].start_mark.line), reverse=True):
        first, end, comment = _extent(lines, *places[field.key])
        value = field.of(profile)
        lines[first:end] = [_with_comment(_entry(field, value), comment)] if _is_set(value) else []
    added = [field for field in changed if field.key not in places and _is_set(field.of(profile))]
    return "\n".join([*lines, *(_entry(field, field.of(profile)) for field in added)])


def _extent(lines: list[str], key: Node, value: Node) -> tuple[int, int, str]:
    """First line, line after the last, and the comment behind the value, of one entry."""
    first, end, column = key.start_mark.line, value.end_mark.line, value.end_mark.column
    if value.start_mark.index <= key.start_mark.index or value.start_mark.index == value.end_mark.index:
        # An alias, or no value at all: the marks are elsewhere, the entry is one line.
        return first, first + 1, _comment(lines[first][key.end_mark.column + 1 :])
    if column:
        return first, end + 1, _comment(lines[end][column:])
    # A block ends where the next thing begins; blank lines and comments before that are not its own.
    while end - 1 > first and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return first, end, ""


def _comment(behind: str) -> str:
    return behind.strip() if behind.strip().startswith("#") else ""


def _with_comment(entry: str, comment: str) -> str:
    first, newline, rest = entry.partition("\n")
    return f"{first} {comment}{newline}{rest}" if comment else entry


def _is_set(value: Any) -> bool:
    return value not in (None, False, ())


def _entry(field: Field, value: Any) -> str:
    if isinstance(value, bool):
        return f"{field.key}: {str(value).lower()}"
    if isinstance(value, int | float):
        return f"{field.key}: {value:.15g}"
    if field.kind == "words":  # as a list, which needs no shell quoting
        return f"{field.key}: [{', '.join(map(_quote, value))}]"
    if isinstance(value, tuple):
        return f"{field.key}: {_list(value)}"
    return f"{field.key}: {_scalar(value.reveal() if isinstance(value, Secret) else value)}"


def _list(words: tuple[str, ...]) -> str:
    if all(_PLAIN.fullmatch(word) for word in words):
        return ",".join(words)
    return f"[{', '.join(_quote(word) for word in words)}]"


def _scalar(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    lines = text.removesuffix("\n").split("\n")
    is_tidy = lines[0] and lines[-1] and all(line == line.strip() for line in lines)
    if len(lines) > 1 and is_tidy and not _UNPRINTABLE.search(text):
        sign = "|" if text.endswith("\n") else "|-"
        return "\n".join([sign, *(f"  {line}" if line else "" for line in lines)])
    return _quote(text)


def _quote(text: str) -> str:
    # JSON's quoting is YAML's too, but for the characters that YAML wants escaped and JSON does not.
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(text, ensure_ascii=False))
