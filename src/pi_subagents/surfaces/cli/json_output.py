"""JSON on standard output, for programs, and harmless should a terminal get it."""

from __future__ import annotations

from typing import Any

import msgspec

from pi_subagents.harmless import escape_json
from pi_subagents.surfaces.cli.output import echo_text


def print_json(value: Any) -> None:
    """One document, indented."""
    echo_text(as_json(value, indent=2))


def as_json(value: Any, indent: int = 0) -> str:
    """A value as JSON text; on one line unless indented. What is not UTF-8 in a path is replaced."""
    try:
        document = msgspec.json.encode(value)
    except UnicodeEncodeError:
        document = msgspec.json.encode(_encodable(msgspec.to_builtins(value)))
    return escape_json((msgspec.json.format(document, indent=indent) if indent else document).decode())


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, (list, tuple)) else value
