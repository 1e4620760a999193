"""The append-only record of a run's events: one JSON object per line, and the truth about the run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from pi_subagents.errors import StoreError
from pi_subagents.models.event import AnyEvent, Event
from pi_subagents.store.decoding import decode_event

JOURNAL_FILE = "events.jsonl"

_ENCODER = msgspec.json.Encoder()
_READ_BYTES = 1024 * 1024


class Journal:
    """The writing end. Only the holder of the run's lease may have one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"cannot open the journal {path}: {error.strerror}") from error

    def append(self, events: Iterable[Event]) -> None:
        """Write `events` in one go; when this returns they may be shown. Raises StoreError."""
        data = memoryview(b"".join(_ENCODER.encode(event) + b"\n" for event in events))
        try:
            while data:
                data = data[os.write(self._fd, data) :]
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
    """Every event of a journal, oldest first; a torn last line is left out, a damaged one is kept as unknown."""
    with path.open("rb", buffering=_READ_BYTES) as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                return
            yield decode_event(line)
