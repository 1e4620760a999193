"""Which files an agent changed: those that it tells of, and those that it wrote with its tools for that."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from pi_subagents.models import event as ev

_WRITING_TOOLS = ("edit", "write")
_MAX_FILES = 1000
_MAX_PATH_CHARACTERS = 4096


class FileChanges(msgspec.Struct):
    """`paths` in the order in which they were changed first; relative ones start at the directory of the run."""

    paths: dict[str, None] = msgspec.field(default_factory=dict)
    _calls: dict[str, str] = msgspec.field(default_factory=dict)

    def call_began(self, event: ev.ToolStarted) -> None:
        """A call that may change a file."""
        path = event.arguments.get("path") if event.name in _WRITING_TOOLS else None
        if isinstance(path, str) and len(self._calls) < _MAX_FILES:
            self._calls[event.id] = path

    def call_ended(self, event: ev.ToolEnded, cwd: str) -> None:
        """It has, unless it failed or the agent has told of the change by itself."""
        path = self._calls.pop(event.id, None)
        if path is not None and not event.is_error:
            self._add(path, cwd)

    def add(self, event: ev.FileChanged, cwd: str) -> None:
        """A change that the agent tells of."""
        self._calls.pop(event.tool_call_id or "", None)
        self._add(event.path, cwd)

    def _add(self, path: str, cwd: str) -> None:
        if path and len(path) <= _MAX_PATH_CHARACTERS and len(self.paths) < _MAX_FILES:
            self.paths[os.path.normpath(Path(cwd, path))] = None
