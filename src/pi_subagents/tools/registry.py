"""All tools by name, and the two ways to call them: waiting for the result, or coming back for it.

A call that nobody waits for is a set of background runs and needs no record of its own. Its id names the runs, and they
know everything else, so it can be asked about by anybody who has the id, as long as the runs are kept.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pi_subagents.background.launch import launch_all
from pi_subagents.errors import InvalidCall, PiSubagentsError
from pi_subagents.models import Status
from pi_subagents.runs.background import Registry
from pi_subagents.runs.run import Run
from pi_subagents.text import clean
from pi_subagents.text.wording import did_you_mean
from pi_subagents.tools.background import BACKGROUND_AGENT, BACKGROUND_STATUS
from pi_subagents.tools.contract import Detachable, Tool, ToolContext, ToolResult, check_arguments
from pi_subagents.tools.delegate import DELEGATE
from pi_subagents.tools.retrieval import GET_OUTPUT, GET_SESSION, LIST_PROFILES
from pi_subagents.tools.subagent import SUBAGENT

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (DELEGATE, GET_OUTPUT, GET_SESSION, LIST_PROFILES, SUBAGENT, BACKGROUND_AGENT, BACKGROUND_STATUS)
}


async def call_tool(name: str, arguments: object, context: ToolContext) -> ToolResult:
    """Call a tool; what is wrong with the call becomes a result with `is_error` that says what to do."""
    try:
        tool = _find(name)
        return await tool.run(check_arguments(arguments, tool.arguments), context)
    except PiSubagentsError as error:
        return ToolResult(str(error), is_error=True)


def _find(name: str) -> Tool:
    tool = TOOLS.get(name)
    if tool is None:
        hint = did_you_mean(name, TOOLS)
        raise InvalidCall(f'Unknown tool: "{name}". Available tools: {", ".join(TOOLS)}{hint and "." + hint}')
    return tool


# --- calls that go on by themselves --------------------------------------------------------------------------

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
