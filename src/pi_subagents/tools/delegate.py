"""`delegate_to_subagents`: hand tasks to parallel sub-agents and wait for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from pi_subagents.delegation.delegation import DelegatedRun
from pi_subagents.fold import RunState
from pi_subagents.models import DEFAULT_TIMEOUT_S, MAX_TASKS, FileSlice, Reason, Status, Task
from pi_subagents.models.event import Event
from pi_subagents.progress import Window, documented_status, standing
from pi_subagents.runs.run import Run
from pi_subagents.settings import Settings, preview_width
from pi_subagents.text import clean
from pi_subagents.tools.contract import AGENT_CHOICE, Detachable, Details, Tool, ToolContext, ToolResult
from pi_subagents.tools.outputs import TASKS, tasks_content, warnings_of
from pi_subagents.tools.waiting import WaitingCall

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

    name: Annotated[_Text, msgspec.Meta(description="Short label")]
    prompt: Annotated[_Text, msgspec.Meta(description="Complete instructions; the sub-agent sees nothing else")]
    cwd: Annotated[str, msgspec.Meta(description="Absolute directory; default: yours")] | None = None
    profile: Annotated[str, msgspec.Meta(description="Overrides the call's profile")] | None = None
    timeout: (
        Annotated[float, msgspec.Meta(ge=1, description="Seconds", extra_json_schema={"default": DEFAULT_TIMEOUT_S})]
        | None
    ) = None
    resume: Annotated[str, msgspec.Meta(description="Session id to continue")] | None = None
    files: (
        Annotated[
            list[str | _File],
            msgspec.Meta(description="Put before the prompt: a path, or {path} with start/end lines, head or tail"),
        ]
        | None
    ) = None
    agent: Annotated[str, AGENT_CHOICE] | None = None

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
            agent=self.agent or None,
        )


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tasks: Annotated[list[TaskArguments], msgspec.Meta(min_length=1, max_length=MAX_TASKS)]
    profile: Annotated[str, msgspec.Meta(description="Default profile for all tasks")] | None = None

    def to_tasks(self) -> list[Task]:
        """The tasks, checked."""
        return [task.to_task() for task in self.tasks]


async def _run(arguments: _Arguments, context: ToolContext) -> ToolResult:
    call = _Call(context, arguments.to_tasks(), arguments.profile or None)
    cancelled = await call.see_through()
    ends = [(run.state, run.plan.summary) for run in call.delegation.runs]
    return _result(ends, call.windows(), call.details(), cancelled=cancelled)


def _result(
    ends: Sequence[tuple[RunState, str | None]], windows: Sequence[Window], details: Details, *, cancelled: bool = False
) -> ToolResult:
    """The runs as they ended, each with the summary of its profile."""
    return ToolResult(
        "\n".join(_summary_line(state, summary) for state, summary in ends),
        details,
        is_error=cancelled,
        structured=tasks_content([state for state, _ in ends], documented_status, details.get("warnings", ())),
        windows=windows,
    )


def _summary_line(state: RunState, summary: str | None) -> str:
    """How a task ended, in one line with its session id."""
    name = clean(state.name)
    profile = f" ({clean(summary)})" if summary else ""
    if state.status is Status.COMPLETED:
        how = standing(state) if state.reason is Reason.NO_ANSWER else "completed"
        return f"✓ {name}: {how} (session: {state.session_id}){profile}"
    return f"✗ {name}: error — {clean(state.error or '')} (session: {state.session_id}){profile}"


def _new_window(state: RunState, settings: Settings) -> Window:
    """A window that has seen nothing of its run yet."""
    return Window(state, max_lines=settings.max_lines_per_window, preview_width=preview_width(settings, None))


def _details(windows: Sequence[Window], settings: Settings, warnings: Sequence[str]) -> Details:
    """The details of a call with these windows."""
    states = [window.state for window in windows]
    return {
        "windows": [window.to_details() for window in windows],
        "maxLinesPerWindow": settings.max_lines_per_window,
        "globalStatus": "done" if all(state.status.is_terminal for state in states) else "running",
        "sessionIds": [state.session_id for state in states],
        **({"warnings": list(warnings)} if warnings else {}),
    }


class _Call(WaitingCall):
    """Shows a window for each task."""

    def __init__(self, context: ToolContext, tasks: Sequence[Task], profile: str | None) -> None:
        super().__init__(context, tasks, profile)
        self._windows: dict[str, Window] = {}
        self._columns = context.columns

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        window = self._window(state)
        window.preview_width = preview_width(self.delegation.settings, self._columns())
        changed = [window.apply(event) for event in events]
        if any(changed):
            self.changed()
        self.speak(state, events)

    def details(self) -> Details:
        return _details(self.windows(), self.delegation.settings, self.delegation.warnings)

    def windows(self) -> list[Window]:
        return [self._window(run.state, run) for run in self.delegation.runs]

    def _window(self, state: RunState, run: DelegatedRun | None = None) -> Window:
        window = self._windows.get(state.run_id)
        if window is None:
            window = self._windows[state.run_id] = _new_window(state, self.delegation.settings)
        if run is not None:
            window.run_dir = str(run.run_dir)
        return window


# --- in the background ---------------------------------------------------------------------------------------


def _plan(arguments: _Arguments) -> tuple[str, list[Task], str | None]:
    return "delegate", arguments.to_tasks(), arguments.profile or None


def _conclude(_kind: str, runs: Sequence[Run], context: ToolContext) -> ToolResult:
    settings = context.place.settings()
    windows = [_window_of(run, settings) for run in runs]
    warnings = warnings_of([run.state for run in runs], settings)
    ends = [(run.state, run.summary) for run in runs]
    return _result(ends, windows, _details(windows, settings, warnings))


def _window_of(run: Run, settings: Settings) -> Window:
    window = _new_window(run.state, settings)
    window.run_dir = str(run.run_dir)
    for event in run.events():
        window.apply(event)
    return window


DELEGATE = Tool(
    name="delegate_to_subagents",
    label="Delegate to sub-agents",
    description=(
        "Run 1-16 independent tasks in parallel sub-agents (4 at once), each an isolated agent with its own context. "
        "Waits for all; returns a session id per task, by which get_subagent_output reads its whole answer. "
        "Leave optional fields out unless needed."
    ),
    arguments=_Arguments,
    output_schema=TASKS,
    run=_run,
    starts_runs=True,
    detaching=Detachable(("delegate",), _plan, _conclude),
)
