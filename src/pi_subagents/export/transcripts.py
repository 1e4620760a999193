"""Conversations as text: retold to an agent that carries on, or shown to whoever asks for a session.

Both cut long arguments and results: the whole is in the run's journal, and the text says where.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pi_subagents.fold import RunState
from pi_subagents.models import event as ev
from pi_subagents.progress import documented_status

ARGUMENT_CHARACTERS = 120
RESULT_CHARACTERS = 500
NO_OUTPUT = "(no text output from sub-agent)"

_ENCODER = msgspec.json.Encoder()


# --- get_subagent_session --------------------------------------------------------------------------------


def session_transcript(runs: Sequence[RunState], run_count: int | None = None) -> str:
    """Everything agents said and did in a session; user texts are left out.

    Of `run_count` runs these are the latest; they keep the numbers they have among all.
    """
    count = run_count or len(runs)
    return "\n---\n".join(_run_text(run, number, count) for number, run in enumerate(runs, count - len(runs) + 1))


def was_cut(runs: Sequence[RunState]) -> bool:
    """Whether the transcript of these runs leaves something out."""
    return any(run.message_count > len(run.messages) for run in runs) or any(
        _is_long(message) for run in runs for message in run.messages
    )


def _run_text(run: RunState, number: int, count: int) -> str:
    messages = [text for message in run.messages if (text := _message_text(message))]
    if run.partial_text.strip():
        messages.append(run.partial_text)
    if run.error and not already_said(run):
        messages.append(f"[Error: {run.error}]")
    body = "\n---\n".join(messages)
    if count == 1:
        return body
    return f"=== Run {number}/{count} ({documented_status(run.status)}) ===\n{body}"


def _message_text(message: ev.Message) -> str:
    if message.role == "toolResult":
        return f"[tool result]: {cut(message.text)}"
    if message.role != "assistant":
        return ""
    lines: list[str] = []
    for part in message.parts:
        if isinstance(part, ev.TextPart) and part.text.strip():
            lines.append(part.text)
        elif isinstance(part, ev.ToolCallPart):
            lines.append(f"→ {part.name}: {arguments_preview(part)}")
    if message.error_message:
        lines.append(f"[Error: {message.error_message}]")
    return "\n".join(lines)


def already_said(run: RunState) -> bool:
    return bool(run.messages) and run.messages[-1].error_message == run.error


# --- both ------------------------------------------------------------------------------------------------


def arguments_preview(call: ev.ToolCallPart) -> str:
    """A call's arguments as JSON, cut to the documented length."""
    return _ENCODER.encode(call.arguments).decode()[:ARGUMENT_CHARACTERS]


def cut(text: str) -> str:
    return text if len(text) <= RESULT_CHARACTERS else f"{text[:RESULT_CHARACTERS]}..."


def _is_long(message: ev.Message) -> bool:
    if message.role == "toolResult":
        return len(message.text) > RESULT_CHARACTERS
    return any(len(_ENCODER.encode(call.arguments)) > ARGUMENT_CHARACTERS for call in message.tool_calls)
