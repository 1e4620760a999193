"""Changes JSON texts, with or without comments, one value at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pi_subagents.installing.formats import CannotEdit, Table
from pi_subagents.installing.jsonc_scan import Node, comma_after, scan

_WHITE = " \t\r\n"
_DEFAULT_INDENT = "  "
_MAX_TWINS = 10
"""Each time that a name is repeated costs reading the whole text again."""


class Jsonc:
    """JSON as editors and agents write it."""

    def parse(self, text: str) -> dict[str, Any]:
        """The values in a text; an empty one has none. They are shared: nobody may change them."""
        root = scan(text)
        if root is None:
            return {}
        if not isinstance(root.value, dict):
            raise CannotEdit("line 1: expected '{'")
        return root.value

    def put(self, text: str, patch: Table) -> str:
        """Set values: what is there is replaced where it stands, what is not comes last in its object."""
        if scan(text) is None:
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
    node = scan(text)
    for key in path:
        member = node.member(key) if node is not None else None
        node = member.node if member is not None else None
    return node


def _insert(text: str, parent: Node, key: str, value: Any) -> str:
    inline = _is_inline(text, parent)
    close = parent.end - 1
    last = len(text[:close].rstrip(_WHITE))
    base = _line_indent(text, parent.start)
    indent = _members_indent(text, parent) or base + _indent_unit(text)
    colon = ":" if inline and ": " not in text else ": "
    added = json.dumps(key, ensure_ascii=False) + colon + _render(value, text, indent, inline=inline)
    if inline:
        lead, tail = " " if ", " in text or ": " in text else "", text[last:close]
    else:
        lead, tail = _newline(text) + indent, text[last:close]
        if "\n" not in tail:
            tail = _newline(text) + base
    head = text[:last]
    if parent.members:
        end = parent.members[-1].node.end
        if comma_after(text, end) is None:
            head = text[:end] + "," + text[end:last]
        else:
            added += ","
    return head + lead + added + tail + text[close:]


def _cut(text: str, parent: Node, key: str) -> str:
    index = max(number for number, member in enumerate(parent.members) if member.key == key)
    member = parent.members[index]
    end, comma = member.node.end, comma_after(text, member.node.end)
    before = text[: member.start]
    if comma is not None:
        end = comma + 1
    elif index > 0:
        # It was the last one, so the comma between it and the one before has lost its meaning.
        previous = comma_after(text, parent.members[index - 1].node.end)
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
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _members_indent(text: str, node: Node) -> str | None:
    return _own_line_indent(text, node.members[-1].start) if node.members else None


def _indent_unit(text: str) -> str:
    root = scan(text)
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
