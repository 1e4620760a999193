"""Tasks as they arrive in JSON, from a model or from a task file."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from pi_subagents.models import DEFAULT_TIMEOUT_S, FileSlice, Task

_Line = Annotated[int, msgspec.Meta(ge=1)]
_Text = Annotated[str, msgspec.Meta(min_length=1)]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: _Text
    start: _Line | None = None
    end: _Line | None = None
    head: _Line | None = None
    tail: _Line | None = None

    def to_slice(self) -> FileSlice:
        return FileSlice(path=self.path, start=self.start, end=self.end, head=self.head, tail=self.tail)


class TaskArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of a task. Models fill in what they could leave out: an empty text counts as left out."""

    name: _Text
    prompt: _Text
    cwd: str | None = None
    profile: str | None = None
    timeout: Annotated[float, msgspec.Meta(ge=1)] | None = None
    resume: str | None = None
    files: list[str | _File] | None = None

    def to_task(self) -> Task:
        """The task these arguments ask for."""
        files = tuple(file if isinstance(file, str) else file.to_slice() for file in self.files or ())
        return Task(
            name=self.name,
            prompt=self.prompt,
            cwd=self.cwd or None,
            profile=self.profile or None,
            timeout=self.timeout or DEFAULT_TIMEOUT_S,
            resume=self.resume or None,
            files=files,
        )


_LINE_SCHEMA = {"type": "integer", "minimum": 1}

TASK_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "description": "Short label"},
        "prompt": {
            "type": "string",
            "minLength": 1,
            "description": "Complete instructions; the sub-agent sees nothing else",
        },
        "cwd": {"type": "string", "description": "Absolute directory; default: yours"},
        "profile": {"type": "string", "description": "Overrides the call's profile"},
        "timeout": {"type": "number", "minimum": 1, "default": DEFAULT_TIMEOUT_S, "description": "Seconds"},
        "resume": {"type": "string", "description": "Session id to continue"},
        "files": {
            "type": "array",
            "description": "Put before the prompt: a path, or {path} with start/end lines, head or tail",
            "items": {
                "anyOf": [
                    {"type": "string"},
                    {
                        "type": "object",
                        "properties": {
                            "path": {"type": "string", "minLength": 1},
                            **dict.fromkeys(("start", "end", "head", "tail"), _LINE_SCHEMA),
                        },
                        "required": ["path"],
                        "additionalProperties": False,
                    },
                ]
            },
        },
    },
    "required": ["name", "prompt"],
    "additionalProperties": False,
}
"""Kept short: every model that is offered the tool pays for it in every request."""
