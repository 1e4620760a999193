"""Decodes what `pi` prints. Whatever the bytes are, a run goes on and its journal says what came."""

from __future__ import annotations

import json

import msgspec

from pi_subagents.harness.pi_records import Record, normalise
from pi_subagents.jsonl import Frame, Oversized
from pi_subagents.models import event as ev

_MAX_OUTPUT_CHARACTERS = 64 * 1024
"""A line that is no event is kept up to this length."""

_RECORD: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class _Kind(msgspec.Struct):
    type: str


_KIND = msgspec.json.Decoder(_Kind)


class PiDecoder:
    """One record at a time, in order."""

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        """The events one record stands for; never raises."""
        if isinstance(frame, Oversized):
            return _oversized(frame, at)
        try:
            record = _RECORD.decode(frame)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _unusual(frame, at)
        event = normalise(record, at)
        return [] if event is None else [event]


def _oversized(frame: Oversized, at: int) -> list[ev.AnyEvent]:
    events: list[ev.AnyEvent] = [ev.Dropped(at=at, size=frame.size, head=frame.head.decode("utf-8", "replace"))]
    # `agent_end` repeats the whole conversation and so is the record most likely to be too large; that the pass
    # ended is all it is needed for.
    if frame.head.startswith(b'{"type":"agent_end"'):
        events.append(ev.AgentEnded(at=at, will_retry=False))
    return events


def _unusual(frame: bytes, at: int) -> list[ev.AnyEvent]:
    """A record that is not one of the known shapes: damaged text, a new kind of event, or no event at all."""
    kind = _kind_of(frame)
    if kind is not None:
        repaired = _repair(frame)
        if repaired is not None and (event := _decode_repaired(repaired, at)) is not None:
            return [ev.Repaired(at=at, size=len(frame)), event]
        return [ev.Unknown(at=at, kind=kind, record=msgspec.Raw(repaired or frame))]
    text = frame.decode("utf-8", "replace")
    if len(text) > _MAX_OUTPUT_CHARACTERS:
        text = f"{text[:_MAX_OUTPUT_CHARACTERS]}… ({len(text)} characters)"
    return [ev.Output(at=at, text=text)]


def _kind_of(frame: bytes) -> str | None:
    try:
        return _KIND.decode(frame.decode("utf-8", "replace")).type
    except (msgspec.DecodeError, RecursionError):
        return None


def _repair(frame: bytes) -> bytes | None:
    """The record with invalid bytes and unpaired surrogates replaced, or None if nothing needed it."""
    try:
        value = json.loads(frame.decode("utf-8", "replace"))
        repaired = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return None
    return repaired


def _decode_repaired(frame: bytes, at: int) -> ev.AnyEvent | None:
    try:
        return normalise(_RECORD.decode(frame), at)
    except (msgspec.DecodeError, RecursionError):
        return None
