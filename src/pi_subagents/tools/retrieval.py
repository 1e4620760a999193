"""`get_subagent_output` and `get_subagent_session`: reading a session back, while it runs or at any time after."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec

from pi_subagents.sessions import Session, Sessions
from pi_subagents.settings import load_settings
from pi_subagents.store import JOURNAL_FILE
from pi_subagents.tools.arguments import check_arguments
from pi_subagents.tools.contract import Details, Tool, ToolContext, ToolResult
from pi_subagents.tools.outputs import SESSION, record
from pi_subagents.transcripts import NO_OUTPUT, documented_status, session_transcript, was_cut


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    session_id: Annotated[str, msgspec.Meta(min_length=1)]


_SCHEMA = {
    "type": "object",
    "properties": {"sessionId": {"type": "string"}},
    "required": ["sessionId"],
}


async def _find(arguments: object, context: ToolContext) -> Session:
    checked = check_arguments(arguments, _Arguments)
    sessions = context.sessions or Sessions(context.place)
    return await asyncio.to_thread(sessions.find, checked.session_id)


def _details(session: Session, context: ToolContext) -> Details:
    latest = session.latest
    settings = load_settings(context.place.cwd, context.place.agent_dir)
    return {
        "sessionId": session.id,
        "status": documented_status(latest.state.status),
        "taskName": latest.state.name,
        "runCount": session.run_count,
        "maxLines": settings.max_lines_per_window,
        "reason": latest.state.reason,
        "error": latest.state.error,
        "runDirs": [str(run.run_dir) for run in session.runs],
        "journal": str(latest.run_dir / JOURNAL_FILE),
    }


async def _output(arguments: object, context: ToolContext) -> ToolResult:
    session = await _find(arguments, context)
    return ToolResult(session.latest.state.text.strip() or NO_OUTPUT, _details(session, context))


async def _session(arguments: object, context: ToolContext) -> ToolResult:
    session = await _find(arguments, context)
    states = [run.state for run in session.runs]
    text = session_transcript(states)
    if was_cut(states):
        text += f"\n---\n[shortened; the whole transcript: {session.latest.run_dir / JOURNAL_FILE}]"
    details = _details(session, context)
    details["messageCount"] = sum(state.message_count for state in states)
    details["exitCode"] = session.latest.state.exit_code
    details["model"] = session.latest.state.model
    return ToolResult(text, details)


GET_OUTPUT = Tool(
    name="get_subagent_output",
    description="Get a sub-agent's final text (its latest run), or the text so far while it runs.",
    input_schema=_SCHEMA,
    output_schema=record(SESSION),
    run=_output,
)

GET_SESSION = Tool(
    name="get_subagent_session",
    description="Get a session's transcript: all runs with texts, tool calls and results; can be long.",
    input_schema=_SCHEMA,
    output_schema=record({**SESSION, "messageCount": {"type": "integer"}}),
    run=_session,
)
