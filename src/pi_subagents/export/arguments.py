"""A tool call's arguments in full, as blocks that people can read: no text is hidden in JSON escapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import msgspec

from pi_subagents.models.memory import size_of
from pi_subagents.text.harmless import clean, escape_json, printable

_LONG = 80
_MAX_DEPTH = 8
"""What is nested deeper stays JSON."""
_ALWAYS_APART = frozenset({"command", "content", "newText", "oldText"})
"""Programs and pieces of files are shown as such, however short."""

_MAX_FLATTENED_BYTES = 1024 * 1024
"""Of larger arguments only the outermost are told apart."""
_MAX_NAME_CHARACTERS = 200

Leaf = tuple[str, object]
"""Where a value stands among the arguments, and the value."""

_JSON = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Block:
    """A text with the name of the argument it is; without a name, several short arguments as `name: JSON`."""

    label: str
    text: str


def argument_blocks(arguments: Mapping[str, Any]) -> list[Block]:
    """Everything a tool was called with, in order: long texts in blocks of their own."""
    is_huge = size_of(arguments) > _MAX_FLATTENED_BYTES
    leaves = _items(arguments, "") if is_huge else _flatten(arguments)
    blocks: list[Block] = []
    for is_apart, group in groupby(leaves, _stands_apart):
        if is_apart:
            blocks += [Block(clean(label), printable(str(value))) for label, value in group]
        else:
            blocks.append(Block("", "\n".join(map(_line, group))))
    return blocks


def _stands_apart(leaf: Leaf) -> bool:
    label, value = leaf
    return isinstance(value, str) and (_is_long(value) or _last_name(label) in _ALWAYS_APART)


def _line(leaf: Leaf) -> str:
    label, value = leaf
    return f"{clean(label)}: {escape_json(_JSON.encode(value).decode())}"


def _bounded(name: str) -> str:
    # A name is repeated before everything that stands below it.
    return name if len(name) <= _MAX_NAME_CHARACTERS else f"{name[:_MAX_NAME_CHARACTERS]}…"


def _is_long(text: str) -> bool:
    return "\n" in text or len(text) > _LONG


def _last_name(label: str) -> str:
    return label.rpartition(".")[2]


def _flatten(value: object, path: str = "", depth: int = 0) -> Iterator[Leaf]:
    items = list(_items(value, path)) if depth < _MAX_DEPTH else []
    if not items and path:
        yield path, value
    for name, item in items:
        yield from _flatten(item, name, depth + 1)


def _items(value: object, path: str) -> Iterator[Leaf]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            name = _bounded(str(key))
            yield f"{path}.{name}" if path else name, item
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, item in enumerate(value):
            yield f"{path}[{index}]", item
