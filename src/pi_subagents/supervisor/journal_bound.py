"""Keeps the journal of a run within its bound, whatever its agent prints.

Up to the bound everything is written. Beyond it, pieces of messages and what is printed around the conversation are
left out, with one note, and messages are cut. At twice the bound the run is stopped, and only what we record ourselves
is written: whatever ends a run always is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from pi_subagents.models import event as ev

MAX_MESSAGE_CHARACTERS = 64 * 1024
"""Of a message beyond the bound."""
_MAX_FIELD_CHARACTERS = 4 * 1024
_PART_CHARACTERS = 32
"""What an empty part takes in the journal."""

_OURS = (
    ev.Created,
    ev.HeldBack,
    ev.Started,
    ev.Detached,
    ev.StopRequested,
    ev.SteerRequested,
    ev.DetailsDropped,
    ev.Exited,
    ev.Ended,
)
_DETAILS = (
    ev.AgentInstructed,
    ev.Delta,
    ev.DialogDismissed,
    ev.Dropped,
    ev.EntryAppended,
    ev.ExtensionSpoke,
    ev.Output,
    ev.QueueChanged,
    ev.Repaired,
    ev.SessionRenamed,
    ev.ShellOutput,
    ev.Stderr,
    ev.ToolProgress,
    ev.Unknown,
)

_ENCODER = msgspec.json.Encoder()


def is_full(journal_bytes: int, bound: int) -> bool:
    """Whether the agent has to be stopped."""
    return journal_bytes >= 2 * bound


def within_bound(
    events: Sequence[ev.AnyEvent], journal_bytes: int, bound: int, *, noted: bool
) -> Sequence[ev.AnyEvent]:
    """What is to be written of `events`; unless it is `noted` already, with the note that something is missing."""
    if journal_bytes < bound:
        return events
    kept = list(_kept(events, is_full(journal_bytes, bound)))
    missing = len(kept) < len(events) or any(old is not new for old, new in zip(events, kept, strict=True))
    return [ev.DetailsDropped(at=events[0].at, bound=bound), *kept] if missing and not noted else kept


def _kept(events: Sequence[ev.AnyEvent], only_ours: bool) -> Iterator[ev.AnyEvent]:
    for event in events:
        if isinstance(event, _OURS):
            yield event
        elif not only_ours and not isinstance(event, _DETAILS):
            yield _shortened(event)


def _shortened(event: ev.AnyEvent) -> ev.AnyEvent:
    values = {name: getattr(event, name) for name in event.__struct_fields__}
    changes = {name: short for name, value in values.items() if (short := _short(value)) is not value}
    if not changes:
        return event
    if isinstance(event, ev.Message):
        changes["truncated"] = True
    return msgspec.structs.replace(event, **changes)


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value, _MAX_FIELD_CHARACTERS)
    if isinstance(value, dict):
        return _short_arguments(value, MAX_MESSAGE_CHARACTERS)
    if isinstance(value, tuple):
        parts = tuple(_short_parts(value))
        same = len(parts) == len(value) and all(old is new for old, new in zip(value, parts, strict=True))
        return value if same else parts
    return value


def _short_parts(parts: Sequence[ev.Part]) -> Iterator[ev.Part]:
    left = MAX_MESSAGE_CHARACTERS
    for part in parts:
        if left <= 0:
            return
        short = _short_part(part, left)
        left -= _PART_CHARACTERS + len(_ENCODER.encode(short))
        yield short


def _short_part(part: ev.Part, left: int) -> ev.Part:
    if isinstance(part, ev.TextPart | ev.ThinkingPart):
        text = _cut(part.text, left)
        return part if text is part.text else type(part)(text)
    if isinstance(part, ev.ToolCallPart):
        arguments = _short_arguments(part.arguments, left)
        name, call_id = _cut(part.name, _MAX_FIELD_CHARACTERS), _cut(part.id, _MAX_FIELD_CHARACTERS)
        same = arguments is part.arguments and name is part.name and call_id is part.id
        return part if same else ev.ToolCallPart(call_id, name, arguments)
    if isinstance(part, ev.OtherPart):
        kind = _cut(part.kind, _MAX_FIELD_CHARACTERS)
        return part if kind is part.kind else ev.OtherPart(kind)
    mime_type = _cut(part.mime_type, _MAX_FIELD_CHARACTERS)
    return part if mime_type is part.mime_type else ev.ImagePart(mime_type, part.size)


def _short_arguments(arguments: dict[str, Any], most: int) -> dict[str, Any]:
    return arguments if len(_ENCODER.encode(arguments)) <= most else {}


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[… {len(text) - most:,} characters left out …]"
