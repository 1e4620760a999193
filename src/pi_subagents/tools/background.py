"""`background_agent` and `background_agent_status`: runs that go on when the caller does something else, or is gone."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Annotated

import msgspec

from pi_subagents.background.launch import launch_all
from pi_subagents.delegation.missing import require_startable
from pi_subagents.delegation.prompts import task_name
from pi_subagents.errors import InvalidCall
from pi_subagents.models import Task
from pi_subagents.progress import standing
from pi_subagents.runs.background import Registry, counts
from pi_subagents.runs.forms import run_row
from pi_subagents.runs.run import Run
from pi_subagents.text import Line, Style, clean
from pi_subagents.tools.contract import AGENT_CHOICE, Tool, ToolContext, ToolResult
from pi_subagents.tools.outputs import COUNTS, RUN, launched_lines, listed, record, run_content, run_lines

_POLL_S = 0.2
_STOP_WAIT_S = 8.0
_MAX_WAIT_S = 3600

_Text = Annotated[str, msgspec.Meta(min_length=1)]


class _Launch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    preset: _Text
    task: _Text
    model: Annotated[str, msgspec.Meta(description="Overrides the preset's")] | None = None
    cwd: str | None = None
    agent: Annotated[str, AGENT_CHOICE] | None = None


class _Status(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    run_id: str | None = msgspec.field(default=None, name="runId")
    include_completed: bool | None = msgspec.field(default=None, name="includeCompleted")
    wait_s: Annotated[float, msgspec.Meta(ge=0, le=_MAX_WAIT_S, description="Wait so long for a run to end")] | None = (
        None
    )
    stop: Annotated[bool, msgspec.Meta(description="Stop runId")] | None = None


# --- background_agent ----------------------------------------------------------------------------------------


async def _launch(asked: _Launch, context: ToolContext) -> ToolResult:
    run = await asyncio.to_thread(_start, asked, context)
    registry = Registry(context.place, context.owner)
    found = counts(await asyncio.to_thread(registry.runs))
    text = (
        f"Started in the background: run {run.state.run_id} (session {run.state.session_id}). "
        f"{_count_words(found)} Ask background_agent_status for it; wait_s waits."
    )
    row = run_row(run)
    return ToolResult(
        text, {"run": row, "counts": found}, structured={"text": text, "run": run_content(row), "counts": found}
    )


def _start(asked: _Launch, context: ToolContext) -> Run:
    task = Task(
        task_name(asked.task),
        asked.task,
        cwd=asked.cwd or None,
        timeout=None,
        preset=asked.preset,
        model=asked.model or None,
        agent=asked.agent or None,
    )
    (run,) = launch_all(
        [task], context.place, owner=context.owner, available_tools=context.available_tools, check=require_startable
    )
    return run


# --- background_agent_status ---------------------------------------------------------------------------------


async def _status(asked: _Status, context: ToolContext) -> ToolResult:
    registry = Registry(context.place, context.owner)
    if asked.stop:
        await asyncio.to_thread(_stop, registry, asked.run_id)
    runs = await _wait(registry, asked.run_id or None, asked.wait_s or 0)
    everything = await asyncio.to_thread(registry.runs)
    found = counts(everything)
    shown = runs if asked.run_id or asked.include_completed else [run for run in runs if not run.is_over]
    rows = [run_row(run) for run in shown]
    text = "\n".join([_count_words(found), *(_line(run) for run in shown)])
    brief = [run_content(row, alone=bool(asked.run_id)) for row in rows]
    return ToolResult(text, {"counts": found, "runs": rows}, structured={"counts": found, "runs": brief})


async def _wait(registry: Registry, run_id: str | None, wait_s: float) -> list[Run]:
    """The runs that are asked for, as soon as one of them ends or the time is up."""
    deadline = time.monotonic() + wait_s
    runs = await asyncio.to_thread(_look, registry, run_id)
    before = sum(run.is_over for run in runs)
    while time.monotonic() < deadline and sum(run.is_over for run in runs) == before and before < len(runs):
        await asyncio.sleep(_POLL_S)
        runs = await asyncio.to_thread(_look, registry, run_id)
    return runs


def _look(registry: Registry, run_id: str | None) -> list[Run]:
    if run_id is None:
        return registry.runs()
    run = registry.find(run_id)
    if run is None:
        raise InvalidCall(f'Unknown background run: "{run_id}". Leave runId out to list the runs there are.')
    return [run]


def _stop(registry: Registry, run_id: str | None) -> None:
    if not run_id:
        raise InvalidCall("stop needs the runId of the run to stop")
    (run,) = _look(registry, run_id)
    if not run.is_over:
        run.stop()
        with suppress(TimeoutError):
            run.wait(_STOP_WAIT_S)


def _count_words(found: dict[str, int]) -> str:
    words = ", ".join(f"{found[word]} {word}" for word in found if word != "total" and found[word])
    return f"Background runs: {words or 'none'}; {found['total']} in total."


def _line(run: Run) -> str:
    state = run.state
    word = standing(state)
    head = f"{state.run_id} {state.asked_as or ''} {word}: {clean(state.name)}"
    if not run.is_over:
        return head
    return f"{head}\n{clean(state.error or '', keep_newlines=True) or state.text}".rstrip()


def _display_status(result: ToolResult) -> list[Line]:
    rows: list[Line] = [[(Style.MUTED, result.text.split("\n", 1)[0])]]
    for run in result.details["runs"]:
        rows += run_lines(run, (Style.DIM, f" • {run['runId']}"))
    return rows


BACKGROUND_AGENT = Tool(
    name="background_agent",
    label="Background agent",
    description="Start one sub-agent of a preset that goes on in the background. Returns at once with its runId.",
    arguments=_Launch,
    output_schema=record({"text": {"type": "string"}, "run": RUN, "counts": COUNTS}),
    run=_launch,
    display=lambda result: launched_lines(result.details["run"]),
    starts_runs=True,
    needs_model=True,
    can_be_cancelled=False,  # the run would be launched, and nobody told of it
)

BACKGROUND_STATUS = Tool(
    name="background_agent_status",
    label="Background agents",
    description="Counts and active background runs; with runId that run and its result.",
    arguments=_Status,
    output_schema=record({"counts": COUNTS, "runs": listed(RUN)}),
    run=_status,
    display=_display_status,
    needs_model=True,
)
