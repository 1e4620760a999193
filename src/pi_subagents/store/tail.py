"""The end of a journal that is still being written: what came since the last look."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.errors import StoreError
from pi_subagents.models.event import AnyEvent
from pi_subagents.store.decoding import decode_event

_READ_BYTES = 4 * 1024 * 1024


class JournalTail:
    """Reads a journal from its beginning on, every event once.

    It stands at the end of the last complete line: one that is half there may be finished by its writer, or be cut
    off by whoever closes the run of a dead writer. `at_end`: the last look went to the end of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self.at_end = False

    def read(self) -> list[AnyEvent]:
        """The events since the last call, a few megabytes of them at most; raises StoreError."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                data = piece = file.read(_READ_BYTES)
                while b"\n" not in data and len(piece) == _READ_BYTES:
                    piece = file.read(_READ_BYTES)
                    data += piece
        except OSError as error:
            raise StoreError(f"cannot read the journal {self._path}: {error.strerror}") from error
        self.at_end = len(piece) < _READ_BYTES
        *lines, torn = data.split(b"\n")
        self._position += len(data) - len(torn)
        return [decode_event(line) for line in lines]
