"""JSON Schemas of what results say in details: enough to rely on, without repeating every field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NOTHING: Schema = {"type": ["string", "null"]}
_USAGE: Schema = {"type": "object"}


def record(properties: Mapping[str, Schema], *, sometimes: Mapping[str, Schema] | None = None) -> dict[str, Any]:
    """An object that has all of these; it may have more, such as what it has `sometimes`."""
    return {"type": "object", "properties": {**properties, **(sometimes or {})}, "required": list(properties)}


def listed(items: Schema) -> dict[str, Any]:
    """A list of such things."""
    return {"type": "array", "items": dict(items)}


WINDOW = record(
    {
        "name": _TEXT,
        "sessionId": _TEXT,
        "runId": _TEXT,
        "runDir": _TEXT_OR_NOTHING,
        "status": {"enum": ["running", "completed", "error"]},
        "lines": listed(record({"text": _TEXT, "kind": {"enum": ["text", "tool"]}})),
        "errorMessage": _TEXT_OR_NOTHING,
        "usage": _USAGE,
    }
)
PRESET_RUN = record(
    {
        "runId": _TEXT,
        "sessionId": _TEXT,
        "preset": _TEXT_OR_NOTHING,
        "status": _TEXT,
        "paths": {"type": "object", "additionalProperties": _TEXT},
        "usage": _USAGE,
    }
)
COUNTS = record({word: {"type": "integer"} for word in ("running", "completed", "failed", "aborted", "total")})
SESSION: Mapping[str, Schema] = {
    "sessionId": _TEXT,
    "status": {"enum": ["running", "completed", "error"]},
    "taskName": _TEXT,
    "runCount": {"type": "integer"},
    "error": _TEXT_OR_NOTHING,
    "journal": _TEXT,
}
