"""From a line of a journal to an event, whatever the line is and whichever version wrote it.

What this version does not know is kept: an event of an unknown kind, an unknown part of a message, an end in unknown
words. Figures that nobody can show are put right. Only what is no event at all counts as damage.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from pi_subagents.clock import LAST_MS
from pi_subagents.models import event as ev
from pi_subagents.models.part import MAX_NESTING, is_shallow
from pi_subagents.models.usage import Usage

_DECODER: msgspec.json.Decoder[ev.AnyEvent] = msgspec.json.Decoder(ev.AnyEvent)
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_KINDS = frozenset(kind.__struct_config__.tag for kind in get_args(ev.AnyEvent))
_PARTS = frozenset(kind.__struct_config__.tag for kind in get_args(ev.Part))
DAMAGED_BYTES = 64 * 1024
"""How much is kept of a line that is no event."""
_TIMES = ("at", "until", "delayMs")


def decode_event(line: bytes) -> ev.AnyEvent:
    """The event that a complete line of a journal holds; never raises."""
    try:
        event = _DECODER.decode(line)
    except _UNREADABLE:
        event = _unusual(line)
    # Counting is cheap, and almost no line has so many brackets.
    deep = line.count(b"{") + line.count(b"[") > MAX_NESTING and not all(map(is_shallow, _arguments(event)))
    return _damaged(line) if deep else event


def _unusual(line: bytes) -> ev.AnyEvent:
    try:
        record = msgspec.json.decode(line)
        kind = record["type"]
        if isinstance(kind, str) and kind not in _KINDS:
            return ev.Unknown(at=_time(record.get("at")), kind=kind, record=msgspec.Raw(line.strip()), ours=True)
        return _DECODER.decode(msgspec.json.encode(_put_right(record)))
    except (*_UNREADABLE, TypeError, KeyError, AttributeError):
        return _damaged(line)


def _damaged(line: bytes) -> ev.Unknown:
    text = line[:DAMAGED_BYTES].decode("utf-8", "replace")
    return ev.Unknown(kind="damaged", record=msgspec.Raw(msgspec.json.encode(text)), ours=True)


def _put_right(record: dict[str, Any]) -> dict[str, Any]:
    """The record with what this version cannot take replaced by what comes nearest."""
    record |= {name: _time(record[name]) for name in _TIMES if name in record}
    if "usage" in record:
        record["usage"] = _usage(record["usage"])
    if record["type"] == "message" and isinstance(record.get("parts"), list):
        record["parts"] = [_part(part) for part in record["parts"]]
    if record["type"] == "ended":
        # However another version puts it: the run has ended, and nobody may end it again.
        record |= {name: _word(record.get(name)) for name in ("status", "reason")}
    return record


def _time(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value <= LAST_MS else 0


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    figures = [value.get(field.encode_name) for field in msgspec.structs.fields(Usage)]
    return Usage.of(*(figure if isinstance(figure, int | float) else None for figure in figures))


def _part(value: Any) -> Any:
    kind = value.get("type") if isinstance(value, dict) else None
    return value if kind in _PARTS else {"type": "other", "kind": str(kind)}


def _word(value: object) -> str:
    return value if isinstance(value, str) else "unknown"


def _arguments(event: ev.AnyEvent) -> list[dict[str, Any]]:
    if isinstance(event, ev.Message):
        return [part.arguments for part in event.parts if isinstance(part, ev.ToolCallPart)]
    return [event.arguments] if isinstance(event, ev.ToolStarted) else []
