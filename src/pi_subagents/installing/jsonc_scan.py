"""Reads JSON with comments and trailing commas, and keeps where in the text each value stands."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from pi_subagents.installing.formats import CannotEdit

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_BEGIN_OF_BLANKS = frozenset(" \t\r\n/")
_BYTE_ORDER_MARK = "\ufeff"


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


@lru_cache(maxsize=2)
def scan(text: str) -> Node | None:
    """The value that a text holds, None if it holds nothing but blanks and comments; raises CannotEdit.

    An edit looks at the text before and after it several times; what it finds is shared, and never changed.
    """
    try:
        return _Scanner(text).document()
    except RecursionError:
        raise CannotEdit("its values are nested too deeply") from None


def skip_blanks(text: str, at: int) -> int:
    """Where the blanks and comments that begin at `at` end."""
    if text[at : at + 1] not in _BEGIN_OF_BLANKS:
        return at
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def comma_after(text: str, at: int) -> int | None:
    """Where the comma is that follows what ends at `at`, if one does."""
    at = skip_blanks(text, at)
    return at if text.startswith(",", at) else None


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._scalars = json.JSONDecoder(parse_constant=_refuse_constant)

    def document(self) -> Node | None:
        start = skip_blanks(self._text, len(_BYTE_ORDER_MARK) if self._text.startswith(_BYTE_ORDER_MARK) else 0)
        if start == len(self._text):
            return None
        node = self._value(start)
        if skip_blanks(self._text, node.end) != len(self._text):
            raise self._unexpected(skip_blanks(self._text, node.end), "the end of the file")
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
        at = skip_blanks(self._text, start + 1)
        while not self._text.startswith("}", at):
            if not self._text.startswith('"', at):
                raise self._unexpected(at, "a name in double quotes or '}'")
            key, end = self._scalar(at)
            colon = skip_blanks(self._text, end)
            if not self._text.startswith(":", colon):
                raise self._unexpected(colon, "':'")
            node = self._value(skip_blanks(self._text, colon + 1))
            members.append(Member(key, at, node))
            at = self._next(node.end, "}")
        return Node(start, at + 1, {member.key: member.node.value for member in members}, members)

    def _array(self, start: int) -> Node:
        values: list[Any] = []
        at = skip_blanks(self._text, start + 1)
        while not self._text.startswith("]", at):
            node = self._value(at)
            values.append(node.value)
            at = self._next(node.end, "]")
        return Node(start, at + 1, values)

    def _next(self, end: int, closing: str) -> int:
        """Where the next member is, or the bracket; a comma before that one is allowed."""
        at = skip_blanks(self._text, end)
        if self._text.startswith(",", at):
            return skip_blanks(self._text, at + 1)
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
