"""The terminal as textual drives it, but one that may go away at any moment.

textual writes from a thread of its own, which dies of the first write to a closed terminal; whatever the program writes
after that waits for ever, and with it the program, deaf to the very signal that tells it to end.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from textual.drivers.linux_driver import LinuxDriver


class LastingDriver(LinuxDriver):
    """Writes to a closed terminal go nowhere."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._file: Any = _Lasting(self._file)


class _Lasting:
    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
