"""Records as `pi` 0.87 prints them in JSON mode, reduced to what matters to a reader."""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]

AGENT_START: Record = {"type": "agent_start"}
AGENT_SETTLED: Record = {"type": "agent_settled"}


def assistant(
    text: str = "",
    *calls: Record,
    stop_reason: str | None = None,
    error: str | None = None,
    usage: Record | None = None,
) -> Record:
    """A complete message of the agent, with its tool calls."""
    content = ([{"type": "text", "text": text}] if text else []) + list(calls)
    message = {"role": "assistant", "content": content, "stopReason": stop_reason or ("toolUse" if calls else "stop")}
    extra = {"errorMessage": error, "usage": usage}
    return {"type": "message_end", "message": message | {k: v for k, v in extra.items() if v is not None}}


def tool_call(name: str, call_id: str = "1", **arguments: Any) -> Record:
    """A part of an agent's message: the call of a tool."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def tool_result(name: str, text: str, call_id: str = "1", *, is_error: bool = False) -> Record:
    """What a tool returned to the agent."""
    content = [{"type": "text", "text": text}]
    message = {"role": "toolResult", "toolCallId": call_id, "toolName": name, "content": content, "isError": is_error}
    return {"type": "message_end", "message": message}


def delta(text: str) -> Record:
    """A piece of text while it is being written."""
    return {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": text}}


def agent_end(*, will_retry: bool | None = False) -> Record:
    """The end of a pass; with None as 0.74 prints it, which does not say whether another follows."""
    record: Record = {"type": "agent_end", "messages": []}
    return record if will_retry is None else record | {"willRetry": will_retry}


def answer(text: str) -> list[Record]:
    """Everything an agent prints that says `text` and has nothing left to do."""
    return [AGENT_START, assistant(text), agent_end(), AGENT_SETTLED]
