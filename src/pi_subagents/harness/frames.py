"""Reads what agents print, one JSON object per line, and never fails, whatever the bytes are.

Each protocol has its own kinds of records; lines that are no record at all are treated the same for every agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pi_subagents.clock import LAST_MS
from pi_subagents.encoding import MAX_NESTING, decoder_of, is_shallow
from pi_subagents.jsonl import Frame, Oversized
from pi_subagents.models import event as ev
from pi_subagents.models.run import bounded
from pi_subagents.text.patterns import pattern

_MAX_OUTPUT_CHARACTERS = 64 * 1024
"""A line that is no event is kept up to this length."""
_MAX_LINE_CHARACTERS = 200
_LONE_SURROGATE = pattern("[\ud800-\udfff]")
_REQUEST_HEAD = pattern(
    r'\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"]*"\s*,|\s*"id"\s*:\s*(\d{1,18}|"[^"\\]*")\s*,)+\s*"(?:params|method)"'
)
_ANSWER_HEAD = pattern(r'\s*\{(?:\s*"jsonrpc"\s*:\s*"[^"]*"\s*,)?\s*"id"\s*:\s*(\d{1,18})\s*,\s*"result"')
_OBJECT: msgspec.json.Decoder[dict[str, Any]] = decoder_of(dict[str, Any])


def read_object(frame: Frame, at: int) -> tuple[dict[str, Any] | None, list[ev.AnyEvent]]:
    """The JSON object in a frame, or None, and the events for whatever is wrong with the frame."""
    if isinstance(frame, Oversized):
        return None, [dropped(frame, at)]
    if not frame.lstrip().startswith(b"{"):  # no record; a flood of such lines need not be parsed
        return None, [output(frame, at)]
    if (found := _object_in(frame)) is not None:
        return found, []
    repaired = repair(frame)
    if repaired is not None and (found := _object_in(repaired)) is not None:
        return found, [ev.Repaired(at=at, size=len(frame))]
    return None, [output(frame, at)]


def _object_in(frame: bytes) -> dict[str, Any] | None:
    try:
        return _OBJECT.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def dropped(frame: Oversized, at: int) -> ev.Dropped:
    """A record that was too large to keep."""
    return ev.Dropped(at=at, size=frame.size, head=frame.head.decode("utf-8", "replace"))


def output(frame: bytes, at: int) -> ev.Output:
    """A line that is no record."""
    text = frame.decode("utf-8", "replace")
    if len(text) > _MAX_OUTPUT_CHARACTERS:
        text = f"{text[:_MAX_OUTPUT_CHARACTERS]}… ({len(text)} characters)"
    return ev.Output(at=at, text=text)


def unknown(kind: object, record: dict[str, Any], at: int) -> ev.Unknown:
    """A valid record of an unknown kind."""
    return ev.Unknown(at=at, kind=str(kind), record=msgspec.Raw(msgspec.json.encode(record)))


def request_in(frame: Oversized) -> int | str | None:
    """The id of a JSON-RPC request that is too large to keep, by its first bytes; its sender waits for an answer."""
    found = _REQUEST_HEAD.match(frame.head.decode("utf-8", "replace"))
    if found is None or found[1] is None or '"method"' not in found[0]:
        return None
    return int(found[1]) if found[1].isdigit() else found[1].strip('"')


def answered_in(frame: Oversized) -> int | None:
    """The id of our request that is answered by a record too large to keep, if its first bytes tell."""
    found = _ANSWER_HEAD.match(frame.head.decode("utf-8", "replace"))
    return int(found[1]) if found else None


def repair(frame: bytes) -> bytes | None:
    """The record with invalid bytes and unpaired surrogates replaced, or None if it still is no JSON.

    JavaScript programs that cut a character in two write one half as `\\ud83d`, which no strict reader accepts.
    """
    import json  # loaded here: nearly all records need no repair

    try:
        value = json.loads(frame.decode("utf-8", "replace"))
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).encode()


# --- values in a record, any of which may be missing or of another type ----------------------------------------


def text_in(value: Any) -> str | None:
    """The value if it is a text, else None."""
    return value if isinstance(value, str) else None


def object_in(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items_in(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; empty if the value is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def arguments_in(value: Any) -> dict[str, Any]:
    """The arguments of a tool call."""
    if not isinstance(value, dict):
        return {}
    return value if is_shallow(value) else {"…": f"left out: nested more than {MAX_NESTING} levels deep"}


def figure_in(value: Any) -> float | None:
    """The value if it is a number, else None."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def whole_in(value: Any) -> int | None:
    """A number as a whole one within bounds, else None: tokens, attempts, milliseconds."""
    figure = figure_in(value)
    return None if figure is None else min(int(bounded(figure)), LAST_MS)


def last_line(text: str) -> str:
    """The last line of a tool's output, as a sign of life."""
    return text.rstrip().rsplit("\n", 1)[-1][:_MAX_LINE_CHARACTERS] if text.strip() else ""


# --- the names of tools ---------------------------------------------------------------------------------------


class ToolName(msgspec.Struct, frozen=True):
    """Our name for an agent's tool, and for those of its arguments that we rename."""

    name: str
    arguments: dict[str, str] = {}

    def rename(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments under our names."""
        return {self.arguments.get(key, key): value for key, value in arguments.items()}


def tool_call(call_id: str, name: str, arguments: Any, known: Mapping[str, ToolName]) -> ev.ToolCallPart:
    """A tool call under the names that windows, progress words and loop detection know."""
    tool = known.get(name)
    given = arguments_in(arguments)
    return ev.ToolCallPart(call_id, tool.name if tool else name, tool.rename(given) if tool else given)
