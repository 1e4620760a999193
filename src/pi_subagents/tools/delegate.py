"""`delegate_to_subagents`: hand tasks to parallel sub-agents and wait for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from pi_subagents.fold import RunState
from pi_subagents.models import MAX_TASKS, Status
from pi_subagents.models.event import Event
from pi_subagents.progress import Window, clean
from pi_subagents.service import DelegatedRun, Delegation
from pi_subagents.settings import preview_width
from pi_subagents.tools.arguments import check_arguments
from pi_subagents.tools.contract import Details, Tool, ToolContext, ToolResult
from pi_subagents.tools.tasks import TASK_SCHEMA, TaskArguments
from pi_subagents.tools.updates import Updates


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tasks: Annotated[list[TaskArguments], msgspec.Meta(min_length=1, max_length=MAX_TASKS)]
    profile: str | None = None


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tasks": {"type": "array", "minItems": 1, "maxItems": MAX_TASKS, "items": TASK_SCHEMA},
        "profile": {"type": "string", "description": "Default profile for all tasks"},
    },
    "required": ["tasks"],
}


async def _run(arguments: object, context: ToolContext) -> ToolResult:
    checked = check_arguments(arguments, _Arguments)
    view = _View(context)
    delegation = Delegation(
        [task.to_task() for task in checked.tasks],
        profile=checked.profile or None,
        place=context.place,
        observer=view.observe,
        available_tools=context.available_tools,
    )
    view.delegation = delegation
    cancelled = await view.updates.see_through(delegation, answer_when_cancelled=context.answer_when_cancelled)
    lines = [summary_line(run) for run in delegation.runs]
    return ToolResult("\n".join([*delegation.settings.warnings, *lines]), view.details(), is_error=cancelled)


def summary_line(run: DelegatedRun) -> str:
    """How a task ended, in one line with its session id."""
    state = run.state
    name = clean(state.name)
    profile = f" ({clean(run.plan.summary)})" if run.plan.summary else ""
    if state.status is Status.COMPLETED:
        return f"✓ {name}: completed (session: {state.session_id}){profile}"
    return f"✗ {name}: error — {clean(state.error or '')} (session: {state.session_id}){profile}"


class _View:
    """The windows of a call."""

    delegation: Delegation

    def __init__(self, context: ToolContext) -> None:
        self.updates = Updates(context.on_update, self.details)
        self._windows: dict[str, Window] = {}

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        window = self._window(state)
        changed = [window.apply(event) for event in events]
        if any(changed):
            self.updates.changed()

    def details(self) -> Details:
        runs = self.delegation.runs
        done = all(run.state.status.is_terminal for run in runs)
        return {
            "windows": [self._window(run.state, run).to_details() for run in runs],
            "maxLinesPerWindow": self.delegation.settings.max_lines_per_window,
            "globalStatus": "done" if done else "running",
            "sessionIds": [run.state.session_id for run in runs],
        }

    def _window(self, state: RunState, run: DelegatedRun | None = None) -> Window:
        window = self._windows.get(state.run_id)
        if window is None:
            settings = self.delegation.settings
            window = Window(
                state,
                max_lines=settings.max_lines_per_window,
                preview_width=preview_width(settings, None),
            )
            self._windows[state.run_id] = window
        if run is not None:
            window.run_dir = str(run.run_dir)
        return window


DELEGATE = Tool(
    name="delegate_to_subagents",
    description=(
        "Run 1-16 independent tasks in parallel sub-agents (4 at once), each an isolated agent with its own context. "
        "Waits for all; returns a session id per task. Read results with get_subagent_output. "
        "Leave optional fields out unless needed."
    ),
    input_schema=_SCHEMA,
    run=_run,
)
