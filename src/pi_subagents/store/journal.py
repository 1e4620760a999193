"""The append-only record of a run's events: one JSON object per line, and the truth about the run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from pi_subagents.errors import StoreError
from pi_subagents.files import Directory, end_of_hole
from pi_subagents.jsonl import MAX_RECORD_BYTES
from pi_subagents.models.event import AnyEvent, Event
from pi_subagents.store.decoding import DAMAGED_BYTES, decode_event
from pi_subagents.store.record import JOURNAL_FILE, in_its_place, open_run, why_foreign

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
