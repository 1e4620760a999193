"""JSON on standard output, for programs, and harmless should a terminal get it."""

from __future__ import annotations

import re
from typing import Any

import click
import msgspec

# JSON escapes the older half of the control characters; a terminal obeys the newer half and reorders text just as well.
_UNESCAPED = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")


def print_json(value: Any) -> None:
    """One document, indented."""
    click.echo(as_json(value, indent=2))


def as_json(value: Any, indent: int = 0) -> str:
    """A value as JSON text; on one line unless indented."""
    document = msgspec.json.encode(value)
    text = (msgspec.json.format(document, indent=indent) if indent else document).decode()
    return _UNESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
