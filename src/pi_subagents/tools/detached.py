"""Calls that go on by themselves, for hosts that come back for the result.

Such a call is a set of background runs and needs no record of its own. Its id names the runs, and they know everything
else, so it can be asked about by anybody who has the id, as long as the runs are kept.
"""

from __future__ import annotations

import asyncio

import msgspec

from pi_subagents.background.launch import launch_all
from pi_subagents.errors import InvalidCall
from pi_subagents.models import Status
from pi_subagents.runs.background import Registry
from pi_subagents.runs.run import Run
from pi_subagents.text import clean
from pi_subagents.tools.contract import Detachable, Tool, ToolContext, ToolResult, check_arguments
from pi_subagents.tools.registry import TOOLS

_SEPARATOR = "."


class DetachedCall(msgspec.Struct, frozen=True):
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


async def start_detached_call(tool: Tool, arguments: object, context: ToolContext) -> DetachedCall:
    """Start a call's runs in the background; raises PiSubagentsError for what is wrong with the call."""
    assert tool.detaching is not None
    kind, tasks, profile = tool.detaching.plan(check_arguments(arguments, tool.arguments))
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
    runs = [run for run_id in run_ids if (run := registry.find(run_id))] if _detaching(kind) else []
    if not runs or len(runs) != len(run_ids):
        raise InvalidCall(f'Unknown task: "{call_id}". Its runs may have been removed, or the id is wrong.')
    return DetachedCall(kind, tuple(runs))


def stop_detached(call: DetachedCall) -> None:
    """Ask every run of a call to end; returns at once."""
    for run in call.runs:
        if not run.is_over:
            run.stop()


def detached_result(call: DetachedCall, context: ToolContext) -> ToolResult:
    """What the tool would have answered, had somebody waited."""
    detaching = _detaching(call.kind)
    assert detaching is not None
    return detaching.conclude(call.kind, call.runs, context)


def _detaching(kind: str) -> Detachable | None:
    ways = (tool.detaching for tool in TOOLS.values())
    return next((way for way in ways if way and kind in way.kinds), None)
