"""A tool call's arguments in full, as blocks that people can read: no text is hidden in JSON escapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pi_subagents.harmless import clean, escape_json, printable

_LONG = 80
_MAX_DEPTH = 8
"""What is nested deeper stays JSON."""
_ALWAYS_APART = frozenset({"command", "content", "newText", "oldText"})
"""Programs and pieces of files are shown as such, however short."""

_JSON = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Block:
    """A text with the name of the argument it is; without a name, several short arguments as `name: JSON`."""

    label: str
    text: str


def argument_blocks(arguments: Mapping[str, Any]) -> list[Block]:
    """Everything a tool was called with, in order: long texts in blocks of their own."""
    blocks: list[Block] = []
    for label, value in _flatten(arguments):
        if isinstance(value, str) and (_is_long(value) or _last_name(label) in _ALWAYS_APART):
            blocks.append(Block(clean(label), printable(value)))
            continue
        line = f"{clean(label)}: {escape_json(_JSON.encode(value).decode())}"
        if blocks and not blocks[-1].label:
            blocks[-1] = Block("", f"{blocks[-1].text}\n{line}")
        else:
            blocks.append(Block("", line))
    return blocks


def _is_long(text: str) -> bool:
    return "\n" in text or len(text) > _LONG


def _last_name(label: str) -> str:
    return label.rpartition(".")[2]


def _flatten(value: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    items = list(_items(value, path)) if depth < _MAX_DEPTH else []
    if not items and path:
        yield path, value
    for name, item in items:
        yield from _flatten(item, name, depth + 1)


def _items(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield f"{path}.{key}" if path else str(key), item
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, item in enumerate(value):
            yield f"{path}[{index}]", item
