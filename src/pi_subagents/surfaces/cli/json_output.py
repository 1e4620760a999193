"""JSON on standard output, for programs, and harmless should a terminal get it."""

from __future__ import annotations

from typing import Any

import msgspec

from pi_subagents.encoding import encode_any
from pi_subagents.surfaces.cli.output import echo_text
from pi_subagents.text.harmless import escape_json


def print_json(value: Any) -> None:
    """One document, indented."""
    echo_text(as_json(value, indent=2))


def as_json(value: Any, indent: int = 0) -> str:
    """A value as JSON text; on one line unless indented."""
    document = encode_any(value)
    return escape_json((msgspec.json.format(document, indent=indent) if indent else document).decode())
