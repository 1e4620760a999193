"""Tool calls as an agent reports them: arguments, results, and the files that they changed."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

import msgspec

from pi_subagents.harness.frames import figure_in, items_in, object_in, text_in
from pi_subagents.models import event as ev

_MAX_DIFF_LINES = 20_000
"""Comparing more lines takes too long."""


class Call(msgspec.Struct):
    """A tool call."""

    id: str
    name: str
    kind: str = ""
    title: str = ""
    path: str = ""
    arguments: dict[str, Any] = {}
    part: ev.ToolCallPart | None = None
    """The call as we announced it; None until then."""
    has_ended: bool = False

    def learn(self, update: dict[str, Any]) -> None:
        """Take in an update; what was announced does not change any more."""
        if self.part is None:
            self.kind = text_in(update.get("kind")) or self.kind
            self.title = text_in(update.get("title")) or self.title
            self.arguments = object_in(update.get("rawInput")) or self.arguments
        places = (text_in(place.get("path")) for place in items_in(update.get("locations")))
        self.path = self.path or next(filter(None, places), "")

    @property
    def is_guessed(self) -> bool:
        """Whether there is more to it than is told; the title of a command is the command."""
        return not self.arguments and self.kind != "execute"

    @property
    def told(self) -> dict[str, Any]:
        """The arguments; if the agent does not report them, what title and locations reveal."""
        if self.arguments:
            return self.arguments
        if self.kind == "execute":
            return {"command": self.title}
        return {"path": self.path, "title": self.title} if self.path else {"title": self.title}


def text_of(update: dict[str, Any]) -> str:
    """The text that a tool printed or returned."""
    contents = (object_in(item.get("content")) for item in items_in(update.get("content")))
    return "\n".join(text for content in contents if (text := text_in(content.get("text"))))


def exit_code_in(raw: dict[str, Any]) -> float | None:
    """The exit code of a command; most agents report commands as completed even if they failed."""
    places = (raw, object_in(raw.get("metadata")), *items_in(raw.get("contents")))
    return next((code for place in places for key in ("exit", "exitCode") if (code := figure_in(place.get(key)))), None)


def changes_by(call: Call, update: dict[str, Any], raw: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each file that a call changed, with its diff if the agent reports one."""
    metadata = object_in(raw.get("metadata"))
    whole = text_in(metadata.get("diff")) or (text_in(raw.get("detailedContent")) if call.kind == "edit" else None)
    diffs = [item for item in items_in(update.get("content")) if item.get("type") == "diff"]
    for item in diffs:
        given = whole if len(diffs) == 1 else None
        path = text_in(item.get("path")) or call.path
        yield path, given or _diff(path, text_in(item.get("oldText")) or "", text_in(item.get("newText")) or "")
    if not diffs and call.kind == "edit" and call.path:
        is_new = metadata.get("exists") is False
        yield call.path, _diff(call.path, "", text_in(call.arguments.get("content")) or "") if is_new else whole or ""


def _diff(path: str, old: str, new: str) -> str:
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _MAX_DIFF_LINES:
        return ""
    return "\n".join(unified_diff(before, after, path, path, lineterm=""))
