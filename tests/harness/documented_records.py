"""Every record of pi 1.5, 0.87 and 0.74 as their documentation shows it, and the event it stands for.

The sources are `docs/json.md`, `docs/message-types.md`, `docs/rpc.md` and `docs/rpc-commands.md` of the versions.
"""

from __future__ import annotations

from typing import Any

from pi_subagents.models import Usage
from pi_subagents.models import event as ev

AT = 5
COST = {"input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3}
USAGE = {"input": 100, "output": 1, "cacheRead": 2, "cacheWrite": 3, "totalTokens": 106, "cost": COST}
ASSISTANT = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "x"},
        {"type": "text", "text": "Hello"},
        {"type": "toolCall", "id": "call_1", "name": "bash", "arguments": {"command": "ls"}},
    ],
    "api": "openai",
    "provider": "acme",
    "model": "m1",
    "usage": USAGE,
    "stopReason": "toolUse",
    "timestamp": 1733234401000,
}
TOOL_RESULT = {
    "role": "toolResult",
    "toolCallId": "call_1",
    "toolName": "bash",
    "content": [{"type": "text", "text": "total 48"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}],
    "isError": True,
}
TOOL = {"toolCallId": "call_1", "toolName": "bash", "args": {"command": "ls -la"}}


def message(**fields: Any) -> dict[str, Any]:
    return {"type": "message_end", "message": fields}


def text_message(role: str, text: str) -> ev.Message:
    return ev.Message(at=AT, role=role, parts=(ev.TextPart(text),))


def update(kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": "message_update",
        "usage": USAGE,
        "assistantMessageEvent": {"type": kind, "contentIndex": 0, **fields},
    }


SHARED: list[tuple[dict[str, Any], ev.AnyEvent | None]] = [
    (
        {"type": "session", "version": 3, "id": "uuid", "timestamp": "2024-12-03T14:00:00.000Z", "cwd": "/path"},
        ev.AgentSession(at=AT, id="uuid", version=3),
    ),
    ({"type": "agent_start"}, ev.AgentStarted(at=AT)),
    ({"type": "turn_start"}, ev.TurnStarted(at=AT)),
    ({"type": "turn_end", "message": ASSISTANT, "toolResults": [TOOL_RESULT]}, ev.TurnEnded(at=AT, tool_results=1)),
    ({"type": "message_start", "message": ASSISTANT}, ev.MessageStarted(at=AT, role="assistant")),
    ({"type": "message_start", "message": {"role": "user", "content": "Review"}}, None),
    (message(role="user", content="Review this"), text_message("user", "Review this")),
    (message(role="user", content=[{"type": "text", "text": "Look"}]), text_message("user", "Look")),
    (
        message(**ASSISTANT),
        ev.Message(
            at=AT,
            role="assistant",
            parts=(ev.ThinkingPart("hm"), ev.TextPart("Hello"), ev.ToolCallPart("call_1", "bash", {"command": "ls"})),
            provider="acme",
            model="m1",
            stop_reason="toolUse",
            usage=Usage(100, 1, 2, 3, 106, 0.3),
        ),
    ),
    (
        message(role="assistant", content=[], stopReason="error", errorMessage="500"),
        ev.Message(at=AT, role="assistant", stop_reason="error", error_message="500"),
    ),
    (
        message(**TOOL_RESULT),
        ev.Message(
            at=AT,
            role="toolResult",
            parts=(ev.TextPart("total 48"), ev.ImagePart("image/png", 4)),
            tool_call_id="call_1",
            tool_name="bash",
            is_error=True,
        ),
    ),
    (
        message(role="bashExecution", command="ls", output="a\n", exitCode=0, cancelled=False, truncated=False),
        text_message("bashExecution", "a\n"),
    ),
    (message(role="custom", customType="x", content="note", display=True), text_message("custom", "note")),
    (message(role="branchSummary", summary="so far", fromId=None), text_message("branchSummary", "so far")),
    (message(role="compactionSummary", summary="short", tokensBefore=9), text_message("compactionSummary", "short")),
    (update("start"), None),
    (update("text_start"), None),
    (update("text_delta", delta="Hello "), ev.Delta(at=AT, kind="text", text="Hello ")),
    (update("text_end", content="Hello "), None),
    (update("thinking_start"), None),
    (update("thinking_delta", delta="hm"), ev.Delta(at=AT, kind="thinking", text="hm")),
    (update("thinking_end", content="hm"), None),
    (update("toolcall_start", id="call_1", toolName="bash"), None),
    (update("toolcall_delta", delta='{"com'), ev.Delta(at=AT, kind="toolCall", text='{"com')),
    (update("toolcall_end", toolCall=ASSISTANT["content"][2]), None),  # type: ignore[index]
    (update("done", reason="stop", message=ASSISTANT), None),
    (update("error", reason="aborted", error=ASSISTANT), None),
    (
        {"type": "tool_execution_start", **TOOL},
        ev.ToolStarted(at=AT, id="call_1", name="bash", arguments={"command": "ls -la"}),
    ),
    (
        {
            "type": "tool_execution_update",
            **TOOL,
            "partialResult": {"content": [{"type": "text", "text": "one\ntwo\n\n"}], "details": {}},
        },
        ev.ToolProgress(at=AT, id="call_1", name="bash", line="two"),
    ),
    ({"type": "tool_execution_update", **TOOL, "partialResult": {"content": []}}, None),
    (
        {"type": "tool_execution_end", **TOOL, "result": {"content": []}, "isError": True},
        ev.ToolEnded(at=AT, id="call_1", name="bash", is_error=True),
    ),
    (
        {"type": "queue_update", "steering": ["Focus"], "followUp": ["Then", "sum up"]},
        ev.QueueChanged(at=AT, steering=("Focus",), follow_up=("Then", "sum up")),
    ),
    ({"type": "compaction_start", "reason": "threshold"}, ev.CompactionStarted(at=AT, reason="threshold")),
    (
        {
            "type": "compaction_end",
            "reason": "overflow",
            "result": {"summary": "…", "firstKeptEntryId": "abc123", "tokensBefore": 150000, "details": {}},
            "aborted": False,
            "willRetry": True,
        },
        ev.CompactionEnded(at=AT, reason="overflow", will_retry=True, tokens_before=150000),
    ),
    (
        {"type": "compaction_end", "reason": "manual", "result": None, "aborted": True, "willRetry": False},
        ev.CompactionEnded(at=AT, reason="manual", aborted=True),
    ),
    (
        {"type": "compaction_end", "reason": "manual", "aborted": False, "willRetry": False, "errorMessage": "quota"},
        ev.CompactionEnded(at=AT, reason="manual", message="quota"),
    ),
    (
        {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "529"},
        ev.RetryStarted(at=AT, attempt=1, max_attempts=3, delay_ms=2000, message="529"),
    ),
    ({"type": "auto_retry_end", "success": True, "attempt": 2}, ev.RetryEnded(at=AT, attempt=2)),
    (
        {"type": "auto_retry_end", "success": False, "attempt": 3, "finalError": "529 overloaded"},
        ev.RetryEnded(at=AT, success=False, attempt=3, message="529 overloaded"),
    ),
    (
        {"type": "extension_error", "extensionPath": "/x.ts", "event": "tool_call", "error": "boom"},
        ev.ExtensionFailed(at=AT, path="/x.ts", during="tool_call", message="boom"),
    ),
]

ONLY_0_87: list[tuple[dict[str, Any], ev.AnyEvent | None]] = [
    ({"type": "agent_end", "messages": [ASSISTANT], "willRetry": False}, ev.AgentEnded(at=AT, will_retry=False)),
    ({"type": "agent_end", "messages": [], "willRetry": True}, ev.AgentEnded(at=AT, will_retry=True)),
    ({"type": "agent_settled"}, ev.AgentSettled(at=AT)),
    (
        message(
            role="system",
            content="plain",
            sections={"preamble": "12345", "gone": None},
            toolsAdded=[{"name": "read", "description": "…"}, {"name": "bash"}],
        ),
        ev.AgentInstructed(at=AT, characters=10, tools=("read", "bash")),
    ),
    (message(role="system", content=[{"type": "text", "text": "in parts"}]), ev.AgentInstructed(at=AT, characters=8)),
    ({"type": "session_info_changed", "name": "Fix the build"}, ev.SessionRenamed(at=AT, name="Fix the build")),
    ({"type": "session_info_changed"}, ev.SessionRenamed(at=AT)),
    ({"type": "thinking_level_changed", "level": "high"}, ev.ThinkingLevelChanged(at=AT, level="high")),
    (
        {
            "type": "summarization_retry_scheduled",
            "attempt": 1,
            "maxAttempts": 3,
            "delayMs": 2000.5,
            "errorMessage": "terminated",
        },
        ev.RetryStarted(at=AT, attempt=1, max_attempts=3, delay_ms=2000, message="terminated", what="summary"),
    ),
    ({"type": "summarization_retry_attempt_start", "source": "compaction", "reason": "threshold"}, None),
    ({"type": "summarization_retry_finished"}, ev.RetryEnded(at=AT, what="summary")),
    ({"type": "bash_execution_update", "id": "req-1", "delta": "total 48\n"}, ev.ShellOutput(at=AT, text="total 48\n")),
]

CHARGED = {**USAGE, "cost": {**COST, "total": 0.25, "totalFromProvider": True}}
NESTED = {
    "complete": True,
    "calls": [
        {"id": "n1", "name": "read", "arguments": {"path": "a.py"}, "status": "ok", "durationMs": 12.5},
        {"id": "n2", "name": "bash", "argumentsBytes": 90000, "status": "error", "error": "too much"},
    ],
}


def accepted(**fields: Any) -> dict[str, Any]:
    return {"id": "req-1", "type": "response", "command": "prompt", "success": True, **fields}


ONLY_1_5: list[tuple[dict[str, Any], ev.AnyEvent | None]] = [
    ({"type": "agent_settled", "aborted": False}, ev.AgentSettled(at=AT, aborted=False)),
    ({"type": "agent_settled", "aborted": True}, ev.AgentSettled(at=AT, aborted=True)),
    (accepted(data={"disposition": "started"}), ev.PromptAccepted(at=AT, disposition="started")),
    (accepted(data={"disposition": "handled"}), ev.PromptAccepted(at=AT, disposition="handled")),
    (accepted(), ev.PromptAccepted(at=AT)),
    ({"type": "response", "command": "steer", "success": True, "data": {"disposition": "queued"}}, None),
    (
        {"type": "tool_execution_end", **TOOL, "result": {"content": []}, "isError": False, "durationMs": 1234.5},
        ev.ToolEnded(at=AT, id="call_1", name="bash", duration_ms=1234),
    ),
    (
        message(
            **{**ASSISTANT, "content": [], "usage": CHARGED, "stopReason": "length"},
            responseModel="m1-2026-11",
            thinkingLevel="high",
        ),
        ev.Message(
            at=AT,
            role="assistant",
            provider="acme",
            model="m1-2026-11",
            stop_reason="length",
            usage=Usage(100, 1, 2, 3, 106, 0.25),
        ),
    ),
    (
        message(role="toolResult", toolCallId="c", toolName="codemode", content=[], isError=False, nestedCalls=NESTED),
        ev.Message(
            at=AT,
            role="toolResult",
            tool_call_id="c",
            tool_name="codemode",
            nested_calls=(
                ev.NestedCall("read", {"path": "a.py"}, duration_ms=12),
                ev.NestedCall("bash", status="error"),
            ),
        ),
    ),
]

_ODD_CALLS: tuple[Any, ...] = (None, 1, [], {"calls": {}}, {"calls": [None, 1, {"id": "x"}, {"name": 3}]})
# Not documented, but in the next version any of these may be something else.
ODD: list[tuple[dict[str, Any], ev.AnyEvent | None]] = [
    ({"type": "agent_settled", "aborted": {"by": "user"}}, ev.AgentSettled(at=AT)),
    (accepted(data={"disposition": 7}), ev.PromptAccepted(at=AT)),
    (accepted(data="handled"), ev.PromptAccepted(at=AT)),
    ({"type": "tool_execution_end", **TOOL, "durationMs": "long"}, ev.ToolEnded(at=AT, id="call_1", name="bash")),
    (
        {"type": "tool_execution_end", **TOOL, "durationMs": -1e308},
        ev.ToolEnded(at=AT, id="call_1", name="bash", duration_ms=0),
    ),
    (
        message(role="assistant", content="Hi", responseModel={"id": 1}, model="m1"),
        ev.Message(at=AT, role="assistant", parts=(ev.TextPart("Hi"),), model="m1"),
    ),
    *(
        (
            message(role="toolResult", toolCallId="c", toolName="t", content=[], nestedCalls=odd),
            ev.Message(at=AT, role="toolResult", tool_call_id="c", tool_name="t"),
        )
        for odd in _ODD_CALLS
    ),
]

ONLY_0_74: list[tuple[dict[str, Any], ev.AnyEvent | None]] = [
    ({"type": "agent_end", "messages": [ASSISTANT]}, ev.AgentEnded(at=AT, will_retry=None)),
    (
        {
            "type": "message_update",
            "message": ASSISTANT,
            "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "Hi", "partial": ASSISTANT},
        },
        ev.Delta(at=AT, kind="text", text="Hi"),
    ),
]
