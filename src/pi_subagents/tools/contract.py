"""What a tool is, for every surface that offers tools to a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.fold import RunState
from pi_subagents.harness.pi.tools import BUILTIN_TOOLS
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.progress import Window, excerpt_segments
from pi_subagents.runners import Runner
from pi_subagents.runs.run import Run
from pi_subagents.runs.sessions import Remembered, Sessions, nothing_remembered
from pi_subagents.supervisor import Observer
from pi_subagents.text import Line
from pi_subagents.tools.arguments import input_schema

Details = dict[str, Any]

EXCERPT_LINES = 15


@dataclass(frozen=True)
class ToolResult:
    """What a model is told, and what a surface shows."""

    text: str
    details: Details = field(default_factory=dict)
    is_error: bool = False
    structured: Details | None = None
    """The same for the model of an MCP client, many of which show it nothing else."""
    windows: Sequence[Window] = ()
    """What the details tell of them, for a surface that paints windows itself."""

    def to_json(self) -> dict[str, Any]:
        """The result as MCP and `pi` write it."""
        return {
            "content": [{"type": "text", "text": self.text}],
            "details": self.details,
            "isError": self.is_error,
        }


# --- progress ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Said:
    """Something new, in a line of words."""

    line: str


@dataclass(frozen=True, slots=True)
class Update:
    """How the call stands, at most every 50 ms: the details, and the windows if it has any, as if it ended now."""

    details: Callable[[], Details]
    windows: Sequence[Window] = ()


@dataclass(frozen=True, slots=True)
class RunOver:
    """A run that the call waits for has ended."""

    state: RunState
    run_dir: Path


Progress = Said | Update | RunOver
OnProgress = Callable[[Progress], None]


# --- calls ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ToolContext:
    """Where a call comes from and who wants to hear of its progress.

    A cancelled call raises CancelledError once its agents are gone, or with `answer_when_cancelled` says how each task
    ended. A host with a screen says in `columns` how wide that is at the moment.
    A host that makes many calls passes its `sessions`, which remember what was read, and its `runner`, which may keep
    agents for the next one; a host with a log of its own says in `remembered` which runs of a session that tells of,
    for those whose record is gone.
    """

    place: Place
    on_progress: OnProgress | None = None
    available_tools: Sequence[str] = BUILTIN_TOOLS
    columns: Callable[[], int | None] = lambda: None
    answer_when_cancelled: bool = False
    sessions: Sessions | None = None
    runner: Runner | None = None
    remembered: Remembered = nothing_remembered
    owner: str = "terminal"

    def delegation(self, tasks: Sequence[Task], observer: Observer, profile: str | None = None) -> Delegation:
        """The tasks of a call, to be waited for."""
        tell = self.on_progress
        return Delegation(
            tasks,
            profile=profile,
            place=self.place,
            observer=observer,
            available_tools=self.available_tools,
            on_ended=None if tell is None else lambda state, run_dir: tell(RunOver(state, run_dir)),
            agents=self.runner,
            remembered=self.remembered,
        )


# --- tools ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Detaching:
    """How a call that waits becomes background runs, for hosts that come back for the result."""

    kinds: tuple[str, ...]
    """What the ids of such calls begin with."""
    plan: Callable[[Any], tuple[str, list[Task], str | None]]
    """From the arguments: the kind, the tasks, and the profile of those that name none."""
    conclude: Callable[[str, Sequence[Run], ToolContext], ToolResult]
    """What the tool would have answered, had somebody waited."""


def _excerpt(result: ToolResult) -> list[Line]:
    return excerpt_segments(result.text, EXCERPT_LINES)


@dataclass(frozen=True)
class Tool:
    """One of the operations that a model can call, and all that surfaces need to know of it."""

    name: str
    label: str
    """Its name for people."""
    description: str
    arguments: type
    output_schema: Mapping[str, Any]
    """What the structured content of a result is."""
    run: Callable[[Any, ToolContext], Awaitable[ToolResult]]
    """Takes the checked arguments."""
    display: Callable[[ToolResult], list[Line]] = _excerpt
    """What people see of a result that is no error and has no windows."""
    starts_runs: bool = False
    needs_model: bool = False
    """Whether it is of no use where the host offers no model."""
    can_be_cancelled: bool = True
    detaching: Detaching | None = None

    @cached_property
    def input_schema(self) -> Mapping[str, Any]:
        """What the arguments are."""
        return input_schema(self.arguments)

    def to_json(self) -> dict[str, Any]:
        """The definition as it is registered with a host."""
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.input_schema)}
