"""Bounded collections for a run: its latest messages, the tools it called, and the files that its agent changed.

The journal on disk has everything.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pi_subagents.encoding import size_of
from pi_subagents.models import event as ev

MAX_MESSAGES_IN_MEMORY = 500
MAX_MESSAGE_BYTES_IN_MEMORY = 4 * 1024 * 1024
WRITING_TOOLS = ("edit", "write")
"""Our names of the tools whose argument `path` is the file that they change."""
_MAX_FILES = 1000
_MAX_PATH_CHARACTERS = 4096
_MAX_TOOL_NAMES = 1000
_MAX_TOOL_NAME_CHARACTERS = 200


class RecentMessages(msgspec.Struct):
    """The latest messages of a run, bounded in number and bytes; the last one is always there."""

    _messages: deque[ev.Message] = msgspec.field(default_factory=deque)
    _sizes: deque[int] = msgspec.field(default_factory=deque)
    _bytes: int = 0

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[ev.Message]:
        return iter(self._messages)

    def __getitem__(self, index: int) -> ev.Message:
        return self._messages[index]

    def append(self, message: ev.Message) -> None:
        """Add a message, dropping the oldest ones if there is no room."""
        size = size_of(message)
        self._messages.append(message)
        self._sizes.append(size)
        self._bytes += size
        while len(self) > 1 and (len(self) > MAX_MESSAGES_IN_MEMORY or self._bytes > MAX_MESSAGE_BYTES_IN_MEMORY):
            self._messages.popleft()
            self._bytes -= self._sizes.popleft()


class FileChanges(msgspec.Struct):
    """The files that an agent reported as changed, or wrote with its edit and write tools; oldest change first."""

    paths: dict[str, None] = msgspec.field(default_factory=dict)
    _calls: dict[str, str] = msgspec.field(default_factory=dict)

    def call_began(self, event: ev.ToolStarted) -> None:
        """Note a call that may change a file."""
        path = event.arguments.get("path") if event.name in WRITING_TOOLS else None
        if isinstance(path, str) and len(self._calls) < _MAX_FILES:
            self._calls[event.id] = path

    def call_ended(self, event: ev.ToolEnded, cwd: str) -> None:
        """Count its file as changed, unless the call failed or the agent reported the change itself."""
        path = self._calls.pop(event.id, None)
        if path is not None and not event.is_error:
            self._add(path, cwd)

    def add(self, event: ev.FileChanged, cwd: str) -> None:
        """Add a change that the agent reported."""
        self._calls.pop(event.tool_call_id or "", None)
        self._add(event.path, cwd)

    def _add(self, path: str, cwd: str) -> None:
        if path and len(path) <= _MAX_PATH_CHARACTERS and len(self.paths) < _MAX_FILES:
            self.paths[os.path.normpath(Path(cwd, path))] = None


def count_tool(counts: dict[str, int], name: str) -> None:
    """Count a call; an agent may make up names without end."""
    name = name[:_MAX_TOOL_NAME_CHARACTERS]
    if name in counts or len(counts) < _MAX_TOOL_NAMES:
        counts[name] = counts.get(name, 0) + 1
