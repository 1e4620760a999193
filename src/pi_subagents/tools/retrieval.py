"""What reads sessions back: `get_subagent_output` and `get_subagent_session`.

A session is read back while it runs, or at any time after.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec

from pi_subagents.errors import SessionNotFound
from pi_subagents.export.transcripts import NO_OUTPUT, session_transcript, was_cut
from pi_subagents.fold import RunState
from pi_subagents.progress import documented_status, excerpt_segments
from pi_subagents.runs.sessions import Session, Sessions, gone_before, session_not_found
from pi_subagents.text import Line
from pi_subagents.tools.contract import EXCERPT_LINES, Details, Tool, ToolContext, ToolResult
from pi_subagents.tools.outputs import SESSION, record, session_content


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    session_id: Annotated[str, msgspec.Meta(min_length=1)]


_RECORD_GONE = "[its record is gone from disk; this is what the log of this conversation kept, which may be less]"


async def _find(arguments: _Arguments, context: ToolContext) -> Session:
    sessions = context.sessions or Sessions(context.place)
    return await asyncio.to_thread(sessions.find, arguments.session_id)


def _facts(session_id: str, latest: RunState, run_count: int, context: ToolContext) -> Details:
    return {
        "sessionId": session_id,
        "status": documented_status(latest.status),
        "taskName": latest.name,
        "runCount": run_count,
        "maxLines": context.place.settings().max_lines_per_window,
        "error": latest.error,
        **({"agent": latest.other_agent} if latest.other_agent else {}),
        **({"beginning": latest.beginning} if latest.beginning != "fresh" else {}),
    }


def _details(session: Session, context: ToolContext) -> Details:
    latest = session.latest
    return {
        **_facts(session.id, latest.state, session.run_count, context),
        "reason": latest.state.reason,
        "runDirs": [str(run.run_dir) for run in session.runs],
        "journal": str(latest.journal),
        **({"damaged": True} if latest.state.is_damaged else {}),
    }


async def _output(arguments: _Arguments, context: ToolContext) -> ToolResult:
    try:
        session = await _find(arguments, context)
    except SessionNotFound:
        return _remembered(arguments.session_id, context, lambda runs: runs[-1].text.strip() or NO_OUTPUT)
    return _result(session.latest.state.text.strip() or NO_OUTPUT, _details(session, context))


async def _session(arguments: _Arguments, context: ToolContext) -> ToolResult:
    try:
        session = await _find(arguments, context)
    except SessionNotFound:
        return _remembered(arguments.session_id, context, session_transcript)
    gone = gone_before(session, context.remembered)
    states = [*gone, *(run.state for run in session.runs)]
    text = session_transcript(states, len(gone) + session.run_count)
    if was_cut(states):
        text += f"\n---\n[shortened; the whole transcript: {session.latest.journal}]"
    details = _details(session, context)
    details["runCount"] = len(gone) + session.run_count
    details["messageCount"] = sum(run.message_count for run in gone) + session.message_count
    details["exitCode"] = session.latest.state.exit_code
    details["model"] = session.latest.state.model
    return _result(text, details)


def _result(text: str, details: Details) -> ToolResult:
    return ToolResult(text, details, structured=session_content(text, details))


def _remembered(session_id: str, context: ToolContext, text: Callable[[Sequence[RunState]], str]) -> ToolResult:
    """What the host's own log still says of the session; raises SessionNotFound again if that is nothing."""
    runs = context.remembered(session_id)
    if not runs:
        raise session_not_found(session_id)
    latest = runs[-1]
    details: Details = {
        **_facts(session_id, latest, len(runs), context),
        "messageCount": sum(run.message_count for run in runs),
        "exitCode": latest.exit_code,
        "model": latest.model,
        "runDirs": [],
        "journal": "",
    }
    return _result(f"{text(runs)}\n---\n{_RECORD_GONE}", details)


def _display(result: ToolResult) -> list[Line]:
    return excerpt_segments(result.text, int(result.details.get("maxLines") or EXCERPT_LINES))


GET_OUTPUT = Tool(
    name="get_subagent_output",
    label="Sub-agent output",
    description="Get a sub-agent's final text (its latest run), or the text so far while it runs.",
    arguments=_Arguments,
    output_schema=record(SESSION),
    run=_output,
    display=_display,
)

GET_SESSION = Tool(
    name="get_subagent_session",
    label="Sub-agent session",
    description="Get a session's transcript: all runs with texts, tool calls and results; can be long.",
    arguments=_Arguments,
    output_schema=record({**SESSION, "messageCount": {"type": "integer"}}),
    run=_session,
    display=_display,
)
