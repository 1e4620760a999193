"""JSON for programs, harmless should a terminal get it: the only place that prints it."""

from __future__ import annotations

from typing import Any

import msgspec

from pi_subagents.encoding import encode_any
from pi_subagents.surfaces.cli.output import echo, echo_text
from pi_subagents.text.harmless import escape_json


def print_json(value: Any, *, err: bool = False) -> None:
    """One document, indented."""
    echo_text(escape_json(msgspec.json.format(encode_any(value), indent=2).decode()), err=err)


def print_json_line(value: Any) -> None:
    """One document of several, each on a line of its own."""
    echo(escape_json(encode_any(value).decode()))
