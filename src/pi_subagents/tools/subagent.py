"""`subagent`: one task, or several side by side, for agents that named presets configure; waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from pi_subagents.errors import InvalidCall
from pi_subagents.export.transcripts import NO_OUTPUT
from pi_subagents.fold import RunState
from pi_subagents.models import MAX_TASKS, Reason, Status, Task
from pi_subagents.models.event import Event
from pi_subagents.progress import excerpt_segments
from pi_subagents.runs.forms import run_row
from pi_subagents.runs.run import Run
from pi_subagents.text import Line, clean
from pi_subagents.tools.contract import (
    AGENT_CHOICE,
    EXCERPT_LINES,
    Detachable,
    Details,
    Tool,
    ToolContext,
    ToolResult,
)
from pi_subagents.tools.outputs import TASKS, run_lines, tasks_content, warnings_of
from pi_subagents.tools.waiting import WaitingCall

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_AGENT_AS_ABOVE = msgspec.Meta(extra_json_schema=AGENT_CHOICE.extra_json_schema)


class _Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    preset: _Text
    task: _Text
    model: str | None = None
    cwd: str | None = None
    agent: Annotated[str, _AGENT_AS_ABOVE] | None = None

    def to_task(self) -> Task:
        return Task(
            self.preset,
            self.task,
            cwd=self.cwd or None,
            preset=self.preset,
            model=self.model or None,
            agent=self.agent or None,
        )


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Models fill in what they could leave out: an empty text or list counts as left out."""

    preset: str | None = None
    task: Annotated[str, msgspec.Meta(description="Complete instructions")] | None = None
    model: Annotated[str, msgspec.Meta(description="provider/id; default: the preset's")] | None = None
    cwd: Annotated[str, msgspec.Meta(description="Absolute directory; default: yours")] | None = None
    tasks: Annotated[list[_Run], msgspec.Meta(max_length=MAX_TASKS)] | None = None
    agent: Annotated[str, AGENT_CHOICE] | None = None
    chain: Annotated[Any, msgspec.Meta(extra_json_schema={"not": {}})] = msgspec.UNSET

    @property
    def mode(self) -> str:
        return "parallel" if self.tasks else "single"

    def to_tasks(self) -> list[Task]:
        """The tasks of either mode; raises InvalidCall for both, for none, and for the mode that does not exist."""
        if self.chain is not msgspec.UNSET:
            raise InvalidCall('There is no "chain": call subagent again and put the result into the next task.')
        single = self.preset or self.task or self.model or self.cwd or self.agent
        if self.tasks and single:
            raise InvalidCall('Invalid arguments: give "preset" and "task", or "tasks", not both')
        if self.tasks:
            return [run.to_task() for run in self.tasks]
        if not single:
            raise InvalidCall('Invalid arguments: give "preset" and "task", or "tasks" with at least one of them')
        for name in ("preset", "task"):
            if not getattr(self, name):
                raise InvalidCall(f"Invalid arguments: {name} is required")
        return [_Run(self.preset or "", self.task or "", self.model, self.cwd, self.agent).to_task()]


async def _run(arguments: _Arguments, context: ToolContext) -> ToolResult:
    call = _Call(context, arguments)
    cancelled = await call.see_through()
    return _result([run.state for run in call.delegation.runs], call.details(), cancelled=cancelled)


def _result(states: Sequence[RunState], details: Details, *, cancelled: bool = False) -> ToolResult:
    return ToolResult(
        _text(states, single=details["mode"] == "single"),
        details,
        # Nothing could be started: the call was no use at all, because of how it was put.
        is_error=cancelled or all(state.reason is Reason.INVALID for state in states),
        structured=tasks_content(states, str, details["warnings"]),
    )


class _Call(WaitingCall):
    """Shows a line for each run."""

    def __init__(self, context: ToolContext, arguments: _Arguments) -> None:
        super().__init__(context, arguments.to_tasks())
        self._mode = arguments.mode

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        if self.speak(state, events):
            self.changed()

    def details(self) -> Details:
        """`progress` is what there is to say at the moment, a line for each run."""
        runs = self.delegation.runs
        return {
            "mode": self._mode,
            "runs": [run_row(run.run) for run in runs],
            "progress": [self._progress(index, run.state) for index, run in enumerate(runs, 1)],
            "warnings": self.delegation.warnings,
        }

    def _progress(self, index: int, state: RunState) -> str:
        line = self.line(state)
        return line if self._mode == "single" else f"{_heading(index, state)}: {line}"


def _text(states: Sequence[RunState], *, single: bool) -> str:
    """The final text of the one run, or a line for every run and then each output under its heading."""
    if single:
        return _single_text(states[0])
    numbered = list(enumerate(states, 1))
    summary = "\n".join(_summary_line(index, state) for index, state in numbered)
    return "\n\n".join([summary, *(_section(index, state) for index, state in numbered)])


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


def _display(result: ToolResult) -> list[Line]:
    rows = [line for run in result.details["runs"] for line in run_lines(run)]
    if result.details["mode"] == "single" and not result.is_error:
        rows += excerpt_segments(result.text, EXCERPT_LINES)
    return rows


# --- in the background ---------------------------------------------------------------------------------------


def _plan(arguments: _Arguments) -> tuple[str, list[Task], str | None]:
    return arguments.mode, arguments.to_tasks(), None


def _conclude(mode: str, runs: Sequence[Run], context: ToolContext) -> ToolResult:
    states = [run.state for run in runs]
    details: Details = {
        "mode": mode,
        "runs": [run_row(run) for run in runs],
        "progress": [],
        "warnings": warnings_of(states, context.place.settings()),
    }
    return _result(states, details)


SUBAGENT = Tool(
    name="subagent",
    label="Sub-agent",
    description=(
        "Run one task (preset, task) or up to 16 in parallel (tasks) in sub-agents set up by named presets. "
        "Waits; returns their final texts. An unknown preset's error lists those there are."
    ),
    arguments=_Arguments,
    output_schema=TASKS,
    run=_run,
    display=_display,
    starts_runs=True,
    needs_model=True,
    detaching=Detachable(("single", "parallel"), _plan, _conclude),
)
