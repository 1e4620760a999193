"""The end of a journal that is still being written: what came since the last look."""

from __future__ import annotations

import os
from pathlib import Path

from pi_subagents.errors import StoreError
from pi_subagents.files import end_of_hole
from pi_subagents.models.event import AnyEvent
from pi_subagents.store.decoding import DAMAGED_BYTES, decode_event
from pi_subagents.store.journal import MAX_LINE_BYTES
from pi_subagents.store.record import in_its_place, open_run, why_foreign

_READ_BYTES = 4 * 1024 * 1024
_MAX_PIECES = MAX_LINE_BYTES // _READ_BYTES


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
                pieces = [file.read(_READ_BYTES)]
                while b"\n" not in pieces[-1] and len(pieces[-1]) == _READ_BYTES and len(pieces) < _MAX_PIECES:
                    pieces.append(file.read(_READ_BYTES))
        except OSError as error:
            raise StoreError(f"cannot read the journal {self._path}: {error.strerror}") from error
        self.at_end = len(pieces[-1]) < _READ_BYTES
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
