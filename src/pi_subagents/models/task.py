"""What is asked of a sub-agent: the task, and the named configuration, read from a Markdown file, that works on it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Literal

import msgspec

Approvals = Literal["allow", "deny"]
"""The answer to an agent's permission requests, as long as no person gives one."""

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

    It may name a `profile`, or a `preset`, which must come to a model, and the `agent` program that is to do it.
    `agent`, `model` and `thinking_level` replace what the profile says of them. A preset's timeout counts unless the
    task has one of its own; without either, None is no timeout at all.
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
    agent: str | None = None


class ThinkingLevel(StrEnum):
    """How much an agent's model thinks before it answers."""

    OFF = "off"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"


class Secret:
    """A value that must not appear in anything written or shown: it prints as stars and cannot be encoded."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the environment of the process that needs it and for nothing else."""
        return self._value

    def masked(self) -> str:
        """First four and last five characters, or only stars when that would show most of it."""
        value = self._value
        return f"{value[:4]}****{value[-5:]}" if len(value) > 12 else "****"

    def __repr__(self) -> str:
        return "Secret(****)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Every field is optional but the name; what is unset is left to the agent's own defaults."""

    name: str
    description: str | None = None
    provider: str | None = None
    model: str | None = None
    thinking_level: str | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    tools: tuple[str, ...] | None = None
    no_tools: bool = False
    exclude_tools: tuple[str, ...] | None = None
    extensions: tuple[str, ...] | None = None
    no_extensions: bool = False
    suggested_skills: tuple[str, ...] | None = None
    load_skills: tuple[str, ...] | None = None
    no_skills: bool = False
    no_context_files: bool = False
    api_key: Secret | None = None
    extra_args: tuple[str, ...] | None = None
    resume_mode: str | None = None
    harness: str | None = None
    agent: str | None = None
    program: tuple[str, ...] | None = None
    mode: str | None = None
    approvals: Approvals | None = None
    inherit: bool = False
    max_turns: int | None = None
    max_cost: float | None = None
    timeout_s: float | None = None
    path: Path | None = None
    scope: Literal["global", "project"] | None = None

    @property
    def restricts_tools(self) -> bool:
        """Whether an agent may not use every tool that there is."""
        return self.no_tools or self.tools is not None or self.exclude_tools is not None

    @property
    def model_provider(self) -> str | None:
        """The provider, from its own field or from a model written as `provider/model`."""
        provider, slash, _model = (self.model or "").partition("/")
        return self.provider or (provider if slash else None)
