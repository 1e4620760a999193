"""Decodes what `pi` prints. Whatever the bytes are, a run goes on and its journal says what came."""

from __future__ import annotations

import json
import re

import msgspec

from pi_subagents.harness.pi.normalise import normalise
from pi_subagents.harness.pi.records import Record
from pi_subagents.jsonl import Frame, Oversized
from pi_subagents.models import event as ev

_MAX_OUTPUT_CHARACTERS = 64 * 1024
"""A line that is no event is kept up to this length."""

_RECORD: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class _Kind(msgspec.Struct):
    type: str


_KIND = msgspec.json.Decoder(_Kind)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class PiDecoder:
    """One record at a time, in order."""

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        """The events one record stands for; never raises."""
        if isinstance(frame, Oversized):
            return _oversized(frame, at)
        if not frame.lstrip().startswith(b"{"):  # no record; a flood of such lines need not be parsed
            return [_output(frame, at)]
        events = _known(frame, at)
        return _unusual(frame, at) if events is None else events

    def take_replies(self) -> bytes:
        """Nothing that JSON mode prints wants an answer."""
        return b""

    def ended(self, exit_code: int, at: int) -> list[ev.AnyEvent]:
        """Nothing: `pi` says by itself when it has settled."""
        return []


def _oversized(frame: Oversized, at: int) -> list[ev.AnyEvent]:
    events: list[ev.AnyEvent] = [ev.Dropped(at=at, size=frame.size, head=frame.head.decode("utf-8", "replace"))]
    # `agent_end` repeats the whole conversation and so is the record most likely to be too large; that the pass
    # ended is all it is needed for.
    if frame.head.startswith(b'{"type":"agent_end"'):
        events.append(ev.AgentEnded(at=at, will_retry=False))
    return events


def _known(frame: bytes, at: int) -> list[ev.AnyEvent] | None:
    """What a record of a known shape stands for; None if it is not one."""
    try:
        event = normalise(_RECORD.decode(frame), at)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return [] if event is None else [event]


def _unusual(frame: bytes, at: int) -> list[ev.AnyEvent]:
    """A record that is not one of the known shapes: a new kind of event, damaged text, or no event at all."""
    if (kind := _kind_of(frame)) is not None:
        return [ev.Unknown(at=at, kind=kind, record=msgspec.Raw(frame))]
    repaired = repair(frame)
    if repaired is not None and (kind := _kind_of(repaired)) is not None:
        events = _known(repaired, at)
        unknown = ev.Unknown(at=at, kind=kind, record=msgspec.Raw(repaired))
        return [ev.Repaired(at=at, size=len(frame)), *([unknown] if events is None else events)]
    return [_output(frame, at)]


def _output(frame: bytes, at: int) -> ev.Output:
    text = frame.decode("utf-8", "replace")
    if len(text) > _MAX_OUTPUT_CHARACTERS:
        text = f"{text[:_MAX_OUTPUT_CHARACTERS]}… ({len(text)} characters)"
    return ev.Output(at=at, text=text)


def _kind_of(frame: bytes) -> str | None:
    """The kind of a record that is sound: the text of fields that are skipped is checked here, not by the decoder."""
    try:
        frame.decode()
        return _KIND.decode(frame).type
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def repair(frame: bytes) -> bytes | None:
    """The record with invalid bytes and unpaired surrogates replaced, or None if it is no JSON all the same.

    `pi` escapes half of a character that was cut in two as `\\ud83d`, which no strict reader takes.
    """
    try:
        value = json.loads(frame.decode("utf-8", "replace"))
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).encode()
