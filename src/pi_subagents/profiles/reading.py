"""One Markdown file becomes one `Profile`, or an error that names the file, the line and what is wrong."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pi_subagents.errors import ProfileError
from pi_subagents.files import read_bounded
from pi_subagents.harness import AGENTS, HARNESSES
from pi_subagents.harness.pi.arguments import flag_of
from pi_subagents.models import Profile, Secret, ThinkingLevel
from pi_subagents.profiles.fields import NAME_RULE, PROFILE, Field, Format
from pi_subagents.profiles.frontmatter import (
    Effort,
    Entry,
    FrontmatterError,
    Scalar,
    parse_frontmatter,
    split_frontmatter,
)
from pi_subagents.text.wording import closest

Scope = Literal["global", "project"]

_CHOICES: dict[str, Collection[str]] = {
    "thinkingLevel": tuple(ThinkingLevel),
    "resumeMode": ("retell", "native"),
    "harness": HARNESSES,
    "agent": AGENTS,
    "approvals": ("allow", "deny"),
}
_TOOL_LISTS = ("tools", "excludeTools")


class ProfileFileError(ProfileError):
    """A file that holds no usable profile; its text begins with `path:line:`. Where files are listed it has a scope."""

    scope: Scope | None = None

    def __init__(self, path: Path, line: int, message: str, name_guess: str | None = None) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line
        self.message = message
        self.name_guess = name_guess or path.stem

    def answers_to(self, name: str) -> bool:
        """Whether somebody who asks for `name` means this file."""
        return name in (self.name_guess, self.path.stem)


def read_profile(
    path: Path, scope: Scope | None = None, kind: Format = PROFILE, effort: Effort | None = None
) -> tuple[Profile, list[str]]:
    """Read one profile or preset and what is odd about its file; raises ProfileFileError."""
    text = read_text(path, within=path.parents[2] if scope == "project" else None)
    try:
        entries, body = _parse(text, effort)
        profile = _build(entries, body, path, scope, kind)
    except FrontmatterError as error:
        raise ProfileFileError(path, error.line, str(error), _guess_name(text)) from None
    return profile, [f"{path}:{line}: {sentence}" for line, sentence in _oddities(entries, kind)]


def parse_profile(text: str, path: Path, scope: Scope | None) -> Profile:
    """The profile that a text would be at `path`; raises FrontmatterError."""
    entries, body = _parse(text)
    return _build(entries, body, path, scope, PROFILE)


def read_text(path: Path, within: Path | None = None) -> str:
    """A profile file's text as it is; raises ProfileFileError, also for a link that leads out of `within`."""
    try:
        data = read_bounded(path, within=within)
    except OSError as error:
        raise ProfileFileError(path, 1, f"cannot be read ({error.strerror})") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ProfileFileError(path, line, "is not UTF-8 text; save it as UTF-8") from None


def _parse(text: str, effort: Effort | None = None) -> tuple[list[Entry], str]:
    split = split_frontmatter(text)
    if not split.closed:
        raise FrontmatterError(1, 'the frontmatter is not closed; end it with a line "---"')
    if split.frontmatter is None:
        raise FrontmatterError(1, 'has no frontmatter; begin with the lines "---", "name: …", "---"')
    if effort is not None:
        effort.spend(split.frontmatter)
    return parse_frontmatter(split.frontmatter), split.body


def _build(entries: Sequence[Entry], body: str, path: Path, scope: Scope | None, kind: Format) -> Profile:
    values: dict[str, Any] = {}
    for entry in entries:
        if field := kind.fields.get(entry.key):
            values[field.attribute] = _read_value(field, entry)
    for key in kind.required:
        if not values.get(key):
            raise FrontmatterError(1, f'has no {key}; add a line "{key}: …"')
    # A preset may have both the field and a body; its body is the text that its author saw last.
    texts = [values.pop(kind.body, None), body.strip() or None]
    values[kind.body] = "\n\n".join(text.rstrip("\n") for text in texts if text) or None
    return Profile(**values, path=path, scope=scope)


def _read_value(field: Field, entry: Entry) -> Any:
    if field.kind == "flag":
        return _read_flag(entry)
    if field.kind == "seconds":
        return _read_number(entry, "a number of seconds, at least 1", least=1)
    if field.kind == "count":
        return int(_read_number(entry, "a whole number, at least 1", least=1, whole=True))
    if field.kind == "money":
        return _read_number(entry, "a number of dollars above 0", least=0.0001)
    if field.kind == "words":
        return _read_words(entry)
    value = _read_list(entry) if field.kind == "list" else _read_text_value(entry)
    if value is None:
        return None
    if complaint := _complaint(field.key, value):
        raise FrontmatterError(entry.line, complaint)
    return Secret(str(value)) if field.kind == "secret" else value


def _complaint(key: str, value: str | tuple[str, ...]) -> str | None:
    if key == "extraArgs":
        # It would be visible to everybody on the machine, and in the record of every run. It is not repeated here.
        has_key = any(flag_of(argument) == "--api-key" for argument in value)
        return '"extraArgs" must not contain --api-key; use the field "apiKey"' if has_key else None
    if any("\0" in part for part in value):
        return f'"{key}" contains a null byte'
    if key == "name" and not NAME_RULE.fullmatch(str(value)):
        return f'the name "{value}" may only contain letters, digits, "-" and "_"'
    if (words := _CHOICES.get(key)) and value not in words:
        return f'"{key}" must be one of {", ".join(words)}, not "{value}"'
    return None


def _read_text_value(entry: Entry) -> str | None:
    if not isinstance(entry.value, Scalar):
        raise FrontmatterError(entry.line, f'"{entry.key}" must be a single text')
    if entry.value.kind == "null" or not entry.value.text.strip():
        return None
    # A long text keeps its own shape; everything else is a word, and space around it is an accident.
    return entry.value.text if entry.key == "appendSystemPrompt" else entry.value.text.strip()


def _read_list(entry: Entry) -> tuple[str, ...] | None:
    if entry.value is None:
        raise FrontmatterError(entry.line, f'"{entry.key}" must be a comma-separated text or a list of texts')
    if isinstance(entry.value, Scalar):
        words = [] if entry.value.kind == "null" else [part.strip() for part in entry.value.text.split(",")]
    elif entry.key == "extraArgs":  # arguments in a list are passed on verbatim, empty ones too
        return tuple(item.text for item in entry.value) or None
    else:
        texts = [item.text for item in entry.value if item.kind != "null"]
        if entry.key in _TOOL_LISTS:  # `- bash, write` names two of them, and `pi` splits it too
            texts = ",".join(texts).split(",")
        words = [text.strip() for text in texts]
    return tuple(word for word in words if word) or None


def _read_flag(entry: Entry) -> bool:
    scalar = entry.value
    if _has_no_value(entry):
        return False
    if isinstance(scalar, Scalar) and (scalar.kind == "bool" or scalar.text in ("true", "false")):
        word = scalar.text.lower()
        if word in ("true", "false"):
            return word == "true"
    raise FrontmatterError(entry.line, f'"{entry.key}" must be true or false')


def _has_no_value(entry: Entry) -> bool:
    return isinstance(entry.value, Scalar) and (entry.value.kind == "null" or not entry.value.text)


def _read_number(entry: Entry, what: str, *, least: float, whole: bool = False) -> float:
    if isinstance(entry.value, Scalar) and entry.value.kind == "number":
        with suppress(ValueError):  # YAML has numbers that Python writes differently
            number = float(entry.value.text)
            if math.isfinite(number) and number >= least and (not whole or number == int(number)):
                return number
    raise FrontmatterError(entry.line, f'"{entry.key}" must be {what}')


def _read_words(entry: Entry) -> tuple[str, ...] | None:
    """A command: text is split as a shell does, a list has one word per item."""
    if not isinstance(entry.value, Scalar):
        return tuple(item.text for item in entry.value or ()) or None
    if _has_no_value(entry):
        return None
    try:
        return tuple(shlex.split(entry.value.text)) or None
    except ValueError as error:
        raise FrontmatterError(entry.line, f'"{entry.key}" is not a command ({error})') from None


def _oddities(entries: Sequence[Entry], kind: Format) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for entry in entries:
        field = kind.fields.get(entry.key)
        if field is None:
            meant = closest(entry.key, kind.fields)
            hint = f"; did you mean {meant}?" if meant else ""
            found.append((entry.line, f'unknown field "{entry.key}" is ignored{hint}'))
        elif field.key == "tools" and _read_list(entry) is None:
            found.append((entry.line, '"tools" is empty and ignored; to allow no tools, write "noTools: true"'))
        elif field.kind == "flag" and _has_no_value(entry):
            found.append((entry.line, f'"{entry.key}" has no value and is ignored; write "{entry.key}: true"'))
    return found


def _guess_name(text: str) -> str | None:
    # Good enough for a file that YAML cannot read: it only decides whether a caller meant this file.
    frontmatter = split_frontmatter(text).frontmatter or text
    found = re.search(r"^name:[ \t]*[\"']?([a-zA-Z0-9_-]+)", frontmatter, re.MULTILINE)
    return found.group(1) if found else None
