"""`subagent`: one task, or several side by side, for agents that named presets configure; waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.errors import InvalidCall
from pi_subagents.export.transcripts import NO_OUTPUT
from pi_subagents.fold import RunState
from pi_subagents.models import MAX_TASKS, Reason, Status, Task
from pi_subagents.models.event import Event
from pi_subagents.runs.forms import run_row
from pi_subagents.text import clean
from pi_subagents.tools.arguments import check_arguments
from pi_subagents.tools.contract import Details, Tool, ToolContext, ToolResult
from pi_subagents.tools.outputs import TASKS, tasks_content
from pi_subagents.tools.spoken import Spoken
from pi_subagents.tools.updates import Updates

_Text = Annotated[str, msgspec.Meta(min_length=1)]


class _Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    preset: _Text
    task: _Text
    model: str | None = None
    cwd: str | None = None

    def to_task(self) -> Task:
        return Task(self.preset, self.task, cwd=self.cwd or None, preset=self.preset, model=self.model or None)


class SubagentArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Models fill in what they could leave out: an empty text or list counts as left out."""

    preset: str | None = None
    task: str | None = None
    model: str | None = None
    cwd: str | None = None
    tasks: Annotated[list[_Run], msgspec.Meta(max_length=MAX_TASKS)] | None = None
    chain: Any = msgspec.UNSET

    @property
    def single(self) -> bool:
        return not self.tasks

    def to_tasks(self) -> list[Task]:
        """The tasks of either mode; raises InvalidCall for both, for none, and for the mode that does not exist."""
        if self.chain is not msgspec.UNSET:
            raise InvalidCall('There is no "chain": call subagent again and put the result into the next task.')
        single = self.preset or self.task or self.model or self.cwd
        if self.tasks and single:
            raise InvalidCall('Invalid arguments: give "preset" and "task", or "tasks", not both')
        if self.tasks:
            return [run.to_task() for run in self.tasks]
        if not single:
            raise InvalidCall('Invalid arguments: give "preset" and "task", or "tasks" with at least one of them')
        for name in ("preset", "task"):
            if not getattr(self, name):
                raise InvalidCall(f"Invalid arguments: {name} is required")
        return [_Run(self.preset or "", self.task or "", self.model, self.cwd).to_task()]


_FIELDS: dict[str, Any] = {
    "preset": {"type": "string"},
    "task": {"type": "string", "description": "Complete instructions"},
    "model": {"type": "string", "description": "provider/id; default: the preset's"},
    "cwd": {"type": "string", "description": "Absolute directory; default: yours"},
}
_ITEM = {
    "type": "object",
    "properties": {
        name: {"type": "string", **({"minLength": 1} if name in ("preset", "task") else {})} for name in _FIELDS
    },
    "required": ["preset", "task"],
    "additionalProperties": False,
}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {**_FIELDS, "tasks": {"type": "array", "maxItems": MAX_TASKS, "items": _ITEM}},
    "additionalProperties": False,
}


async def _run(arguments: object, context: ToolContext) -> ToolResult:
    checked = check_arguments(arguments, SubagentArguments)
    view = _View(context, single=checked.single)
    delegation = context.delegation(checked.to_tasks(), view.observe)
    view.delegation = delegation
    cancelled = await view.updates.see_through(delegation, answer_when_cancelled=context.answer_when_cancelled)
    return ToolResult(
        view.text(),
        view.details(),
        is_error=cancelled or nothing_started(view.states),
        structured=tasks_content(view.states, str, delegation.warnings),
    )


class _View:
    """What a call has come to, as text and as details, while it goes on and at its end."""

    delegation: Delegation

    def __init__(self, context: ToolContext, *, single: bool) -> None:
        self.updates = Updates(context.on_update, self.details)
        self._single = single
        self._spoken = Spoken(context.on_progress, lambda: len(self.delegation.runs))

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        if self._spoken.observe(state, events):
            self.updates.changed()

    def details(self) -> Details:
        """`progress` is what there is to say at the moment, a line for each run."""
        runs = self.delegation.runs
        return {
            "mode": "single" if self._single else "parallel",
            "runs": [run_row(run.run) for run in runs],
            "progress": [self._progress(index, run.state) for index, run in enumerate(runs, 1)],
            "warnings": self.delegation.warnings,
        }

    def text(self) -> str:
        return text_of(self.states, single=self._single)

    @property
    def states(self) -> list[RunState]:
        return [run.state for run in self.delegation.runs]

    def _progress(self, index: int, state: RunState) -> str:
        line = self._spoken.line(state)
        return line if self._single else f"{_heading(index, state)}: {line}"


def text_of(states: Sequence[RunState], *, single: bool) -> str:
    """The final text of the one run, or a line for every run and then each output under its heading."""
    if single:
        return _single_text(states[0])
    numbered = list(enumerate(states, 1))
    summary = "\n".join(_summary_line(index, state) for index, state in numbered)
    return "\n\n".join([summary, *(_section(index, state) for index, state in numbered)])


def nothing_started(states: Sequence[RunState]) -> bool:
    """Whether the call was no use at all, because of how it was put."""
    return all(state.reason is Reason.INVALID for state in states)


def _single_text(state: RunState) -> str:
    if state.status is Status.COMPLETED:
        return state.text.strip() or NO_OUTPUT
    return f"{state.status}: {clean(state.error or '')} (session: {state.session_id})"


def _summary_line(index: int, state: RunState) -> str:
    head, tail = _heading(index, state), f"(session: {state.session_id})"
    if state.status is Status.COMPLETED:
        return f"✓ {head}: completed {tail}"
    return f"✗ {head}: {state.status} — {clean(state.error or '')} {tail}"


def _section(index: int, state: RunState) -> str:
    return f"## {_heading(index, state)}\n\n{state.text.strip() or NO_OUTPUT}"


def _heading(index: int, state: RunState) -> str:
    return f"{index}. {clean(state.preset or '')}"


SUBAGENT = Tool(
    name="subagent",
    description=(
        "Run one task (preset, task) or up to 16 in parallel (tasks) in sub-agents set up by named presets. "
        "Waits; returns their final texts. An unknown preset's error lists those there are."
    ),
    input_schema=_SCHEMA,
    output_schema=TASKS,
    run=_run,
)
