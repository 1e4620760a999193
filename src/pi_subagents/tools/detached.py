"""A waiting tool's call as background runs: for hosts that come back for the result instead of waiting for it.

Such a call needs no record of its own. Its id names the runs, and they know everything else, so it can be asked about
by anybody who has the id, as long as the runs are kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pi_subagents.background import launch_all
from pi_subagents.errors import InvalidCall
from pi_subagents.export.transcripts import documented_status
from pi_subagents.models import Status, Task
from pi_subagents.runs.background import Registry
from pi_subagents.runs.forms import run_row
from pi_subagents.runs.run import Run
from pi_subagents.settings import Settings
from pi_subagents.text import clean
from pi_subagents.tools.arguments import check_arguments
from pi_subagents.tools.contract import ToolContext, ToolResult
from pi_subagents.tools.delegate import DelegateArguments, details_of, new_window, summary_line
from pi_subagents.tools.outputs import tasks_content
from pi_subagents.tools.subagent import SubagentArguments, nothing_started, text_of

_SEPARATOR = "."


@dataclass(frozen=True)
class DetachedCall:
    """A call that goes on by itself: what kind it is, and its runs as they are now."""

    kind: str
    runs: tuple[Run, ...]

    @property
    def id(self) -> str:
        return _SEPARATOR.join([self.kind, *(run.state.run_id for run in self.runs)])

    @property
    def is_over(self) -> bool:
        return all(run.is_over for run in self.runs)

    @property
    def was_stopped(self) -> bool:
        """Whether nothing came of it because somebody stopped it."""
        return all(run.state.status is Status.ABORTED for run in self.runs)

    @property
    def words(self) -> str:
        """How it stands, in a line."""
        if len(self.runs) == 1:
            state = self.runs[0].state
            return f"{clean(state.name)}: {'waiting' if state.status is Status.QUEUED else state.status.value}"
        return f"{sum(run.is_over for run in self.runs)} of {len(self.runs)} sub-agents are done"


def can_detach(tool: str) -> bool:
    """Whether a call of this tool waits for agents; the others answer at once."""
    return tool in _STARTERS


async def start_detached(tool: str, arguments: object, context: ToolContext) -> DetachedCall:
    """Start a call's runs in the background; raises PiSubagentsError for what is wrong with the call."""
    kind, tasks, profile = _STARTERS[tool](arguments)
    runs = await asyncio.to_thread(
        launch_all,
        tasks,
        context.place,
        owner=context.owner,
        default_profile=profile,
        available_tools=context.available_tools,
        remembered=context.remembered,
    )
    return DetachedCall(kind, tuple(runs))


def find_detached(call_id: str, context: ToolContext) -> DetachedCall:
    """A call as it stands now; raises InvalidCall if its id means nothing or its runs are gone."""
    kind, *run_ids = call_id.split(_SEPARATOR)
    registry = Registry(context.place, context.owner)
    runs = [run for run_id in run_ids if (run := registry.find(run_id))] if kind in _CONCLUSIONS else []
    if not runs or len(runs) != len(run_ids):
        raise InvalidCall(f'Unknown task: "{call_id}". Its runs may have been removed, or the id is wrong.')
    return DetachedCall(kind, tuple(runs))


def stop_detached(call: DetachedCall) -> None:
    """Ask every run of a call to end; returns at once."""
    for run in call.runs:
        if not run.is_over:
            run.stop()


def conclude(call: DetachedCall, context: ToolContext) -> ToolResult:
    """What the tool would have answered, had somebody waited."""
    return _CONCLUSIONS[call.kind](call, context)


# --- the tools that wait -------------------------------------------------------------------------------------


def _delegate(arguments: object) -> tuple[str, list[Task], str | None]:
    checked = check_arguments(arguments, DelegateArguments)
    return "delegate", checked.to_tasks(), checked.profile or None


def _subagent(arguments: object) -> tuple[str, list[Task], str | None]:
    checked = check_arguments(arguments, SubagentArguments)
    return "single" if checked.single else "parallel", checked.to_tasks(), None


def _conclude_delegate(call: DetachedCall, context: ToolContext) -> ToolResult:
    settings = context.place.settings()
    windows = []
    for run in call.runs:
        window = new_window(run.state, settings)
        window.run_dir = str(run.run_dir)
        for event in run.events():
            window.apply(event)
        windows.append(window)
    lines = [summary_line(run.state, run.summary) for run in call.runs]
    warnings = _warnings(call, settings)
    structured = tasks_content([run.state for run in call.runs], documented_status, warnings)
    return ToolResult("\n".join(lines), details_of(windows, settings, warnings), structured=structured)


def _warnings(call: DetachedCall, settings: Settings) -> list[str]:
    return [*settings.warnings, *dict.fromkeys(run.state.note for run in call.runs if run.state.note)]


def _conclude_subagent(call: DetachedCall, context: ToolContext) -> ToolResult:
    states = [run.state for run in call.runs]
    warnings = _warnings(call, context.place.settings())
    details: dict[str, Any] = {
        "mode": call.kind,
        "runs": [run_row(run) for run in call.runs],
        "progress": [],
        "warnings": warnings,
    }
    return ToolResult(
        text_of(states, single=call.kind == "single"),
        details,
        is_error=nothing_started(states),
        structured=tasks_content(states, str, warnings),
    )


_STARTERS: dict[str, Callable[[object], tuple[str, list[Task], str | None]]] = {
    "delegate_to_subagents": _delegate,
    "subagent": _subagent,
}
_CONCLUSIONS: dict[str, Callable[[DetachedCall, ToolContext], ToolResult]] = {
    "delegate": _conclude_delegate,
    "single": _conclude_subagent,
    "parallel": _conclude_subagent,
}
