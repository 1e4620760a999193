"""Raw output of an agent, kept for debugging: bounded, and never a reason for a run to fail."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from pi_subagents.files import Directory

_MAX_BYTES = 16 * 1024 * 1024
_CUT = b"\n[the rest was not kept]\n"

_log = logging.getLogger(__name__)


class BoundedLog:
    """Appends until the bound is reached; the file appears with the first write, in the open directory of a run."""

    def __init__(self, path: Path, max_bytes: int = _MAX_BYTES, run: Directory | None = None) -> None:
        self._path = path
        self._run = run
        self._left = max_bytes
        self._given_up = False
        self._fd = -1

    def write(self, data: bytes) -> None:
        """Keep `data` if there is room and the disk allows it."""
        if self._given_up or not data:
            return
        if len(data) > self._left:
            data = data[: self._left] + _CUT
            self._given_up = True
        self._left -= len(data)
        try:
            if self._fd < 0:
                self._fd = self._open(os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC)
            os.write(self._fd, data)
        except OSError as error:
            _log.warning("cannot write %s: %s", self._path, error.strerror)
            self._given_up = True

    def _open(self, flags: int) -> int:
        return self._run.open(self._path.name, flags) if self._run else os.open(self._path, flags, 0o600)

    def close(self) -> None:
        """Harmless when called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
