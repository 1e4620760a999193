"""Changes JSON texts, with or without comments and trailing commas, one value at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from pi_subagents.installing.formats import CannotEdit, Format, Table, newline_of

_WHITE = " \t\r\n"
_DEFAULT_INDENT = "  "
_MAX_TWINS = 10
"""Each time that a name is repeated costs reading the whole text again."""

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_BEGIN_OF_BLANKS = frozenset(" \t\r\n/")
_BYTE_ORDER_MARK = "\ufeff"


class Jsonc(Format):
    """JSON as editors and agents write it."""

    def parse(self, text: str) -> dict[str, Any]:
        """The values in a text; an empty one has none. They are shared: nobody may change them."""
        root = _scan(text)
        if root is None:
            return {}
        if not isinstance(root.value, dict):
            raise CannotEdit("line 1: expected '{'")
        return root.value

    def put(self, text: str, patch: Table) -> str:
        """Set values: what is there is replaced where it stands, what is not comes last in its object."""
        if _scan(text) is None:
            text += ("" if not text or text.endswith("\n") else "\n") + "{}\n"
        return _put(text, (), patch)

    def drop(self, text: str, path: Sequence[str]) -> str:
        """Take out a member with its comma."""
        parent = _node_at(text, path[:-1])
        if parent is not None and sum(member.key == path[-1] for member in parent.members) > _MAX_TWINS:
            raise CannotEdit(f"{path[-1]!r} appears in it more than {_MAX_TWINS} times")
        # A name that is there twice must go twice, or the first would come back to life.
        while parent is not None and parent.member(path[-1]) is not None:
            text = _cut(text, parent, path[-1])
            parent = _node_at(text, path[:-1])
        return text


def _put(text: str, path: tuple[str, ...], patch: Table) -> str:
    for key, value in patch.items():
        parent = _node_at(text, path)
        assert parent is not None
        member = parent.member(key)
        if member is None:
            text = _insert(text, parent, key, value)
        elif isinstance(value, Mapping):
            text = _put(text, (*path, key), value)
        elif member.node.value != value:
            rendered = _render(value, text, _line_indent(text, member.start), inline=_is_inline(text, parent))
            text = text[: member.node.start] + rendered + text[member.node.end :]
    return text


def _node_at(text: str, path: Sequence[str]) -> Node | None:
    node = _scan(text)
    for key in path:
        member = node.member(key) if node is not None else None
        node = member.node if member is not None else None
    return node


def _insert(text: str, parent: Node, key: str, value: Any) -> str:
    inline = _is_inline(text, parent)
    close = parent.end - 1
    last = len(text[:close].rstrip(_WHITE))
    base = _line_indent(text, parent.start)
    own = _own_line_indent(text, parent.members[-1].start) if parent.members else None
    indent = own or base + _indent_unit(text)
    colon = ":" if inline and ": " not in text else ": "
    added = json.dumps(key, ensure_ascii=False) + colon + _render(value, text, indent, inline=inline)
    if inline:
        lead, tail = " " if ", " in text or ": " in text else "", text[last:close]
    else:
        lead, tail = newline_of(text) + indent, text[last:close]
        if "\n" not in tail:
            tail = newline_of(text) + base
    head = text[:last]
    if parent.members:
        end = parent.members[-1].node.end
        if _comma_after(text, end) is None:
            head = text[:end] + "," + text[end:last]
        else:
            added += ","
    return head + lead + added + tail + text[close:]


def _cut(text: str, parent: Node, key: str) -> str:
    index = max(number for number, member in enumerate(parent.members) if member.key == key)
    member = parent.members[index]
    end, comma = member.node.end, _comma_after(text, member.node.end)
    before = text[: member.start]
    if comma is not None:
        end = comma + 1
    elif index > 0:
        # It was the last one, so the comma between it and the one before has lost its meaning.
        previous = _comma_after(text, parent.members[index - 1].node.end)
        assert previous is not None
        before = before[:previous] + before[previous + 1 :]
    after = text[end:]
    stripped = before.rstrip(_WHITE)
    # Behind a line comment the line break must stay.
    if re.match(r"[ \t]*\r?\n", after) or "\n" not in before[len(stripped) :]:
        before = stripped
    if len(before) == parent.start + 1 and after.lstrip(_WHITE).startswith("}"):
        after = after.lstrip(_WHITE)
    return before + after


def _is_inline(text: str, parent: Node) -> bool:
    return bool(parent.members) and "\n" not in text[parent.start : parent.end]


def _render(value: Any, text: str, indent: str, *, inline: bool) -> str:
    if inline:
        compact = ": " not in text
        return json.dumps(value, ensure_ascii=False, separators=(",", ":") if compact else (", ", ": "))
    lines = json.dumps(value, ensure_ascii=False, indent=_indent_unit(text)).split("\n")
    return (newline_of(text) + indent).join(lines)


def _indent_unit(text: str) -> str:
    root = _scan(text)
    first = _own_line_indent(text, root.members[0].start) if root is not None and root.members else None
    return first or _DEFAULT_INDENT


def _own_line_indent(text: str, at: int) -> str | None:
    """The blanks before `at`, if there is nothing else before it on its line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if not line.strip() and at > 0 and "\n" in text[:at] else None


def _line_indent(text: str, at: int) -> str:
    """The blanks at the beginning of the line that `at` is on."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


class Node(NamedTuple):
    """A value and its place; of an object also its members."""

    start: int
    end: int
    value: Any
    members: Sequence[Member] = ()

    def member(self, key: str) -> Member | None:
        """The member of that name; the last one, as all readers of JSON take it."""
        return next((member for member in reversed(self.members) if member.key == key), None)


class Member(NamedTuple):
    """A name in an object, and its value."""

    key: str
    start: int
    node: Node


@lru_cache(maxsize=4)
def _scan(text: str) -> Node | None:
    """The value that a text holds, None if it holds nothing but blanks and comments; raises CannotEdit.

    An edit looks at the text before and after it several times; what it finds is shared, and never changed.
    """
    try:
        return _Scanner(text).document()
    except RecursionError:
        raise CannotEdit("its values are nested too deeply") from None


def _skip_blanks(text: str, at: int) -> int:
    """Where the blanks and comments that begin at `at` end."""
    if text[at : at + 1] not in _BEGIN_OF_BLANKS:
        return at
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def _comma_after(text: str, at: int) -> int | None:
    """Where the comma is that follows what ends at `at`, if one does."""
    at = _skip_blanks(text, at)
    return at if text.startswith(",", at) else None


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._scalars = json.JSONDecoder(parse_constant=_refuse_constant)

    def document(self) -> Node | None:
        start = _skip_blanks(self._text, len(_BYTE_ORDER_MARK) if self._text.startswith(_BYTE_ORDER_MARK) else 0)
        if start == len(self._text):
            return None
        node = self._value(start)
        if _skip_blanks(self._text, node.end) != len(self._text):
            raise self._unexpected(_skip_blanks(self._text, node.end), "the end of the file")
        return node

    def _value(self, at: int) -> Node:
        if self._text.startswith("{", at):
            return self._object(at)
        if self._text.startswith("[", at):
            return self._array(at)
        value, end = self._scalar(at)
        return Node(at, end, value)

    def _object(self, start: int) -> Node:
        members: list[Member] = []
        at = _skip_blanks(self._text, start + 1)
        while not self._text.startswith("}", at):
            if not self._text.startswith('"', at):
                raise self._unexpected(at, "a name in double quotes or '}'")
            key, end = self._scalar(at)
            colon = _skip_blanks(self._text, end)
            if not self._text.startswith(":", colon):
                raise self._unexpected(colon, "':'")
            node = self._value(_skip_blanks(self._text, colon + 1))
            members.append(Member(key, at, node))
            at = self._next(node.end, "}")
        return Node(start, at + 1, {member.key: member.node.value for member in members}, members)

    def _array(self, start: int) -> Node:
        values: list[Any] = []
        at = _skip_blanks(self._text, start + 1)
        while not self._text.startswith("]", at):
            node = self._value(at)
            values.append(node.value)
            at = self._next(node.end, "]")
        return Node(start, at + 1, values)

    def _next(self, end: int, closing: str) -> int:
        """Where the next member is, or the bracket; a comma before that one is allowed."""
        at = _skip_blanks(self._text, end)
        if self._text.startswith(",", at):
            return _skip_blanks(self._text, at + 1)
        if not self._text.startswith(closing, at):
            raise self._unexpected(at, f"',' or '{closing}'")
        return at

    def _scalar(self, at: int) -> tuple[Any, int]:
        try:
            return self._scalars.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            raise self._unexpected(error.pos, "a value") from None
        except (ValueError, StopIteration):
            raise self._unexpected(at, "a value") from None

    def _unexpected(self, at: int, expected: str) -> CannotEdit:
        return CannotEdit(f"line {self._text.count(chr(10), 0, at) + 1}: expected {expected}")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
