"""A profile as the text of its file: new from its fields, or an existing text with single fields changed.

Editing replaces only the lines of what changed. Comments, order, quoting and unknown keys stay as they are,
which a YAML emitter would not promise; new fields go to the end of the frontmatter.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pi_subagents.models import Profile, Secret
from pi_subagents.profiles.fields import FIELDS, Field
from pi_subagents.profiles.frontmatter import FENCE, compose_frontmatter, split_frontmatter

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

# Words that every reader of YAML takes for text without quotes; numbers are left to the quotes.
_PLAIN = re.compile(r"(?!(true|false|null)$)(-{1,2}|[./])?[A-Za-z_][\w./:@+-]*(?<!:)", re.ASCII | re.IGNORECASE)
_UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ufeff\u2028\u2029]")


def profile_to_markdown(profile: Profile) -> str:
    """The text of a new file, the API key included: it is meant for the disk, not for people."""
    lines = [_entry(field, value) for field in FIELDS if _is_set(value := getattr(profile, field.attribute))]
    return _join("\n".join(lines), _body_text(profile))


def edit_markdown(text: str, before: Profile, after: Profile) -> str:
    """`text`, which reads as `before`, with the fields changed in which `after` differs."""
    split = split_frontmatter(text)
    changed = [field for field in FIELDS if _value(before, field) != _value(after, field)]
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
        value = _value(profile, field)
        lines[first:end] = [_with_comment(_entry(field, value), comment)] if _is_set(value) else []
    added = [field for field in changed if field.key not in places and _is_set(_value(profile, field))]
    return "\n".join([*lines, *(_entry(field, _value(profile, field)) for field in added)])


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


def _value(profile: Profile, field: Field) -> Any:
    return getattr(profile, field.attribute)


def _is_set(value: Any) -> bool:
    return value not in (None, False, ())


def _entry(field: Field, value: Any) -> str:
    if isinstance(value, bool):
        return f"{field.key}: {str(value).lower()}"
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
    return _UNPRINTABLE.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"
