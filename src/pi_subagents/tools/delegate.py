"""`delegate_to_subagents`: hand tasks to parallel sub-agents and wait for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from pi_subagents.delegation.delegation import DelegatedRun, Delegation
from pi_subagents.export.transcripts import documented_status
from pi_subagents.fold import RunState
from pi_subagents.models import MAX_TASKS, Status, Task
from pi_subagents.models.event import Event
from pi_subagents.progress import Window
from pi_subagents.settings import Settings, preview_width
from pi_subagents.text import clean
from pi_subagents.tools.arguments import check_arguments
from pi_subagents.tools.contract import Details, Tool, ToolContext, ToolResult
from pi_subagents.tools.outputs import TASKS, tasks_content
from pi_subagents.tools.spoken import Spoken
from pi_subagents.tools.tasks import TASK_SCHEMA, TaskArguments
from pi_subagents.tools.updates import Updates


class DelegateArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tasks: Annotated[list[TaskArguments], msgspec.Meta(min_length=1, max_length=MAX_TASKS)]
    profile: str | None = None

    def to_tasks(self) -> list[Task]:
        """The tasks, checked."""
        return [task.to_task() for task in self.tasks]


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tasks": {"type": "array", "minItems": 1, "maxItems": MAX_TASKS, "items": TASK_SCHEMA},
        "profile": {"type": "string", "description": "Default profile for all tasks"},
    },
    "required": ["tasks"],
    "additionalProperties": False,
}


async def _run(arguments: object, context: ToolContext) -> ToolResult:
    checked = check_arguments(arguments, DelegateArguments)
    view = _View(context)
    delegation = context.delegation(checked.to_tasks(), view.observe, checked.profile or None)
    view.delegation = delegation
    cancelled = await view.updates.see_through(delegation, answer_when_cancelled=context.answer_when_cancelled)
    if context.on_windows is not None:
        context.on_windows(view.windows())
    lines = [summary_line(run.state, run.plan.summary) for run in delegation.runs]
    structured = tasks_content([run.state for run in delegation.runs], documented_status, delegation.warnings)
    return ToolResult("\n".join(lines), view.details(), is_error=cancelled, structured=structured)


def summary_line(state: RunState, summary: str | None) -> str:
    """How a task ended, in one line with its session id."""
    name = clean(state.name)
    profile = f" ({clean(summary)})" if summary else ""
    if state.status is Status.COMPLETED:
        return f"✓ {name}: completed (session: {state.session_id}){profile}"
    return f"✗ {name}: error — {clean(state.error or '')} (session: {state.session_id}){profile}"


def new_window(state: RunState, settings: Settings) -> Window:
    """A window that has seen nothing of its run yet."""
    return Window(state, max_lines=settings.max_lines_per_window, preview_width=preview_width(settings, None))


def details_of(windows: Sequence[Window], settings: Settings, warnings: Sequence[str]) -> Details:
    """The details of a call with these windows."""
    states = [window.state for window in windows]
    return {
        "windows": [window.to_details() for window in windows],
        "maxLinesPerWindow": settings.max_lines_per_window,
        "globalStatus": "done" if all(state.status.is_terminal for state in states) else "running",
        "sessionIds": [state.session_id for state in states],
        **({"warnings": list(warnings)} if warnings else {}),
    }


class _View:
    """The windows of a call."""

    delegation: Delegation

    def __init__(self, context: ToolContext) -> None:
        on_windows = context.on_windows
        tell = context.on_update if on_windows is None else lambda _details: on_windows(self.windows())
        self.updates = Updates(tell, self.details if on_windows is None else dict)
        self._spoken = Spoken(context.on_progress, lambda: len(self.delegation.runs)) if context.on_progress else None
        self._windows: dict[str, Window] = {}
        self._columns = context.columns

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        window = self._window(state)
        window.preview_width = preview_width(self.delegation.settings, self._columns())
        changed = [window.apply(event) for event in events]
        if any(changed):
            self.updates.changed()
        if self._spoken is not None:
            self._spoken.observe(state, events)

    def details(self) -> Details:
        return details_of(self.windows(), self.delegation.settings, self.delegation.warnings)

    def windows(self) -> list[Window]:
        return [self._window(run.state, run) for run in self.delegation.runs]

    def _window(self, state: RunState, run: DelegatedRun | None = None) -> Window:
        window = self._windows.get(state.run_id)
        if window is None:
            window = self._windows[state.run_id] = new_window(state, self.delegation.settings)
        if run is not None:
            window.run_dir = str(run.run_dir)
        return window


DELEGATE = Tool(
    name="delegate_to_subagents",
    description=(
        "Run 1-16 independent tasks in parallel sub-agents (4 at once), each an isolated agent with its own context. "
        "Waits for all; returns a session id per task, by which get_subagent_output reads its whole answer. "
        "Leave optional fields out unless needed."
    ),
    input_schema=_SCHEMA,
    output_schema=TASKS,
    run=_run,
)
