"""The append-only record of a run's events: one JSON object per line, and the truth about the run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, get_args

import msgspec

from pi_subagents.clock import LAST_MS
from pi_subagents.errors import StoreError
from pi_subagents.files import Directory, end_of_hole
from pi_subagents.jsonl import MAX_RECORD_BYTES
from pi_subagents.models import event as ev
from pi_subagents.models.event import AnyEvent, Event
from pi_subagents.models.part import MAX_NESTING, is_shallow
from pi_subagents.models.run import Usage
from pi_subagents.store.record import JOURNAL_FILE, in_its_place, open_run, why_foreign

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


_ENCODER = msgspec.json.Encoder()
_READ_BYTES = 1024 * 1024

MAX_LINE_BYTES = 2 * MAX_RECORD_BYTES
"""No event is longer; what is was not written by us."""


class Journal:
    """The writing end. Only the holder of the run's lease may have one; `run` is the record's open directory."""

    def __init__(self, path: Path, run: Directory | None = None) -> None:
        self.path = path
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._fd = os.open(path, flags, 0o600) if run is None else run.open(path.name, flags)
        except OSError as error:
            raise StoreError(f"cannot open the journal {path}: {error.strerror}") from error
        self.size = os.fstat(self._fd).st_size

    def append(self, events: Iterable[Event]) -> None:
        """Write `events` in one go; when this returns they may be shown. Raises StoreError."""
        data = memoryview(b"".join(_ENCODER.encode(event) + b"\n" for event in events))
        try:
            while data:
                written = os.write(self._fd, data)
                self.size += written
                data = data[written:]
        except OSError as error:
            raise StoreError(f"cannot write the journal {self.path}: {error.strerror}") from error

    def sync(self) -> None:
        """Make what was written survive a power cut. Raises StoreError."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise StoreError(f"cannot write the journal {self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Harmless when called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def read_journal(path: Path) -> Iterator[AnyEvent]:
    """Every event of a journal, oldest first; a torn last line is left out, a damaged one is kept as unknown.

    Raises StoreError where it cannot be read.
    """
    try:
        with open_run(path.parent) as run:
            yield from read_events(run, path.name, why_foreign(run))
    except OSError as error:
        raise StoreError(f"cannot read the journal {path}: {error.strerror}") from error


def find_event(path: Path, tag: str) -> AnyEvent | None:
    """The first event of one kind, without decoding those before it; raises StoreError."""
    beginning = f'{{"type":"{tag}"'.encode()
    try:
        with open_run(path.parent) as run, os.fdopen(run.open(path.name, os.O_RDONLY), "rb", _READ_BYTES) as lines:
            while line := _next_line(lines):
                if line.startswith(beginning):
                    return in_its_place(decode_event(line), run.path, why_foreign(run))
    except OSError as error:
        raise StoreError(f"cannot read the journal {path}: {error.strerror}") from error
    return None


def read_events(run: Directory, name: str = JOURNAL_FILE, foreign: str | None = None) -> Iterator[AnyEvent]:
    """The same for a record that is open already; raises OSError."""
    with os.fdopen(run.open(name, os.O_RDONLY), "rb", buffering=_READ_BYTES) as lines:
        while line := _next_line(lines):
            event = in_its_place(decode_event(line), run.path, foreign)
            del line  # one of the two is enough while others work on it
            yield event
            del event


def _next_line(lines: BinaryIO) -> bytes:
    """The next complete line, or nothing; of one that is too long, the beginning."""
    line = start = lines.readline(MAX_LINE_BYTES)
    while len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
        start = start[:DAMAGED_BYTES]
        lines.seek(end_of_hole(lines.fileno(), lines.tell()))
        line = lines.readline(MAX_LINE_BYTES)
    return start if line.endswith(b"\n") else b""


_PIECE_BYTES = 4 * 1024 * 1024
_MAX_PIECES = MAX_LINE_BYTES // _PIECE_BYTES


class JournalTail:
    """Reads a journal from its beginning on, every event once.

    It stands at the end of the last complete line: one that is half there may be finished by its writer, or be cut
    off by whoever closes the run of a dead writer. `at_end`: the last look went to the end of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._in_long_line = False
        self.at_end = False

    def read(self) -> list[AnyEvent]:
        """The events since the last call, a few megabytes of them at most; raises StoreError."""
        try:
            with open_run(self._path.parent) as run:
                fd, foreign = run.open(self._path.name, os.O_RDONLY), why_foreign(run)
            with os.fdopen(fd, "rb") as file:
                if self._in_long_line:
                    self._position = end_of_hole(fd, self._position)
                file.seek(self._position)
                pieces = [file.read(_PIECE_BYTES)]
                while b"\n" not in pieces[-1] and len(pieces[-1]) == _PIECE_BYTES and len(pieces) < _MAX_PIECES:
                    pieces.append(file.read(_PIECE_BYTES))
        except OSError as error:
            raise StoreError(f"cannot read the journal {self._path}: {error.strerror}") from error
        self.at_end = len(pieces[-1]) < _PIECE_BYTES
        lines = self._lines(b"".join(pieces))
        return [in_its_place(decode_event(line), self._path.parent, foreign) for line in lines]

    def _lines(self, data: bytes) -> list[bytes]:
        *lines, torn = data.split(b"\n")
        self._position += len(data) - len(torn)
        if lines and self._in_long_line:
            self._in_long_line = False
            del lines[0]
        elif len(torn) == MAX_LINE_BYTES:  # longer than any event: told as damaged, once, and passed over
            self._position += len(torn)
            lines = [] if self._in_long_line else [torn[:DAMAGED_BYTES]]
            self._in_long_line = True
        return lines
