"""What is asked of a sub-agent."""

from __future__ import annotations

import msgspec

DEFAULT_TIMEOUT_S = 600
MAX_TASKS = 16
"""How many tasks a model may hand over in one call; people and programs are not limited."""
MAX_CONCURRENCY = 4


class FileSlice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a file: lines `start`..`end` (1-based, inclusive), or the first `head`, or the last `tail`."""

    path: str
    start: int | None = None
    end: int | None = None
    head: int | None = None
    tail: int | None = None


FileSpec = str | FileSlice
"""A path alone means the whole file."""


class Task(msgspec.Struct, frozen=True, omit_defaults=True):
    """One piece of work for one sub-agent.

    It may name an agent: as a `profile`, or as a `preset`, which must come to a model. `model` and `thinking_level`
    replace what the agent says of them. A preset's timeout counts unless the task has one of its own; without either,
    None is no timeout at all.
    """

    name: str
    prompt: str
    cwd: str | None = None
    profile: str | None = None
    timeout: float | None = DEFAULT_TIMEOUT_S
    resume: str | None = None
    files: tuple[FileSpec, ...] = ()
    preset: str | None = None
    model: str | None = None
    thinking_level: str | None = None
