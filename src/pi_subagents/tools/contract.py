"""What a tool is, for every surface that offers tools to a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.fold import RunState
from pi_subagents.harness.pi.tools import BUILTIN_TOOLS
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.progress import Window
from pi_subagents.runners import Runner
from pi_subagents.runs.sessions import Remembered, Sessions, nothing_remembered
from pi_subagents.supervisor import Observer

Details = dict[str, Any]
OnUpdate = Callable[[Details], None]
OnProgress = Callable[[str], None]
OnWindows = Callable[[Sequence[Window]], None]
OnEnded = Callable[[RunState, Path], None]


@dataclass(frozen=True)
class ToolResult:
    """What a model is told, and what a surface shows."""

    text: str
    details: Details = field(default_factory=dict)
    is_error: bool = False
    structured: Details | None = None
    """The same for the model of an MCP client, many of which show it nothing else."""

    def to_json(self) -> dict[str, Any]:
        """The result as MCP and `pi` write it."""
        return {
            "content": [{"type": "text", "text": self.text}],
            "details": self.details,
            "isError": self.is_error,
        }


@dataclass(frozen=True)
class ToolContext:
    """Where a call comes from and who wants to hear of its progress.

    `on_update` gets the details as they would be if the call ended now, at most every 50 ms; `on_progress` gets a line
    in words whenever there is something new to say. A surface that paints windows itself takes `on_windows` instead of
    `on_update`: it gets the windows of `delegate_to_subagents`, as often, and once more at the end. `on_ended` is told
    of each foreground run when it is over. A cancelled call raises CancelledError once its agents are gone, or with
    `answer_when_cancelled` says how each task ended.
    A host with a screen says in `columns` how wide that is at the moment.
    A host that makes many calls passes its `sessions`, which remember what was read, and its `runner`, which may keep
    agents for the next one; a host with a log of its own says in `remembered` which runs of a session that tells of,
    for those whose record is gone.
    """

    place: Place
    on_update: OnUpdate | None = None
    on_progress: OnProgress | None = None
    on_windows: OnWindows | None = None
    on_ended: OnEnded | None = None
    available_tools: Sequence[str] = BUILTIN_TOOLS
    columns: Callable[[], int | None] = lambda: None
    answer_when_cancelled: bool = False
    sessions: Sessions | None = None
    runner: Runner | None = None
    remembered: Remembered = nothing_remembered
    owner: str = "terminal"

    def delegation(self, tasks: Sequence[Task], observer: Observer, profile: str | None = None) -> Delegation:
        """The tasks of a call, to be waited for."""
        return Delegation(
            tasks,
            profile=profile,
            place=self.place,
            observer=observer,
            available_tools=self.available_tools,
            on_ended=self.on_ended,
            agents=self.runner,
            remembered=self.remembered,
        )


@dataclass(frozen=True)
class Tool:
    """One of the operations that a model can call."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    """What the structured content of a result is."""
    run: Callable[[Any, ToolContext], Awaitable[ToolResult]]

    def to_json(self) -> dict[str, Any]:
        """The definition as it is registered with a host."""
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.input_schema)}
