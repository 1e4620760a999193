"""The records `pi` writes in JSON mode, as far as they are read, and what each becomes.

Covers 0.74 (cumulative snapshots in updates, no `willRetry`, no `agent_settled`) to 0.87. Fields that are not
named here are skipped while parsing, which keeps the snapshots and the repeated conversation in `agent_end` cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pi_subagents.models import event as ev
from pi_subagents.models.usage import Usage


class _Wire(msgspec.Struct, rename="camel", gc=False):
    pass


class _Cost(_Wire):
    total: float = 0.0


class _Usage(_Wire):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0
    cost: _Cost | None = None

    def normalised(self) -> Usage:
        return Usage(
            self.input,
            self.output,
            self.cache_read,
            self.cache_write,
            self.total_tokens,
            self.cost.total if self.cost else 0.0,
        )


class _Named(_Wire):
    name: str


class _Message(_Wire):
    role: str
    content: Any = None
    provider: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    usage: _Usage | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool = False
    sections: dict[str, str | None] | None = None
    tools_added: list[_Named] | None = None
    summary: str | None = None
    command: str | None = None
    output: str | None = None


class _Update(_Wire):
    type: str
    delta: str | None = None


class _Record(msgspec.Struct, rename="camel", tag_field="type", gc=False):
    pass


class Session(_Record, tag="session"):
    id: str
    version: int | None = None


class AgentStart(_Record, tag="agent_start"):
    pass


class AgentEnd(_Record, tag="agent_end"):
    will_retry: bool | None = None


class AgentSettled(_Record, tag="agent_settled"):
    pass


class TurnStart(_Record, tag="turn_start"):
    pass


class TurnEnd(_Record, tag="turn_end"):
    tool_results: list[msgspec.Raw] = []


class MessageStart(_Record, tag="message_start"):
    message: _Message


class MessageUpdate(_Record, tag="message_update"):
    assistant_message_event: _Update


class MessageEnd(_Record, tag="message_end"):
    message: _Message


class ToolStart(_Record, tag="tool_execution_start"):
    tool_call_id: str
    tool_name: str
    args: Any = None


class ToolUpdate(_Record, tag="tool_execution_update"):
    tool_call_id: str
    tool_name: str
    partial_result: Any = None


class ToolEnd(_Record, tag="tool_execution_end"):
    tool_call_id: str
    tool_name: str
    is_error: bool = False


class QueueUpdate(_Record, tag="queue_update"):
    steering: list[str] = []
    follow_up: list[str] = []


class EntryAppended(_Record, tag="entry_appended"):
    entry: msgspec.Raw


class SessionInfoChanged(_Record, tag="session_info_changed"):
    name: str | None = None


class ThinkingLevelChanged(_Record, tag="thinking_level_changed"):
    level: str


class _Compaction(_Wire):
    tokens_before: int | None = None


class CompactionStart(_Record, tag="compaction_start"):
    reason: str = ""


class CompactionEnd(_Record, tag="compaction_end"):
    reason: str = ""
    aborted: bool = False
    will_retry: bool = False
    error_message: str | None = None
    result: _Compaction | None = None


class RetryStart(_Record, tag="auto_retry_start"):
    attempt: int = 0
    max_attempts: int = 0
    delay_ms: float = 0
    error_message: str = ""


class RetryEnd(_Record, tag="auto_retry_end"):
    success: bool = True
    attempt: int = 0
    final_error: str | None = None


class SummaryRetryScheduled(_Record, tag="summarization_retry_scheduled"):
    attempt: int = 0
    max_attempts: int = 0
    delay_ms: float = 0
    error_message: str = ""


class SummaryRetryAttempt(_Record, tag="summarization_retry_attempt_start"):
    pass


class SummaryRetryFinished(_Record, tag="summarization_retry_finished"):
    pass


class ShellUpdate(_Record, tag="bash_execution_update"):
    delta: str = ""


class ExtensionError(_Record, tag="extension_error"):
    extension_path: str = ""
    event: str = ""
    error: str = ""


Record = (
    Session
    | AgentStart
    | AgentEnd
    | AgentSettled
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolStart
    | ToolUpdate
    | ToolEnd
    | QueueUpdate
    | EntryAppended
    | SessionInfoChanged
    | ThinkingLevelChanged
    | CompactionStart
    | CompactionEnd
    | RetryStart
    | RetryEnd
    | SummaryRetryScheduled
    | SummaryRetryAttempt
    | SummaryRetryFinished
    | ShellUpdate
    | ExtensionError
)

_DELTA_KINDS = {"text_delta": "text", "thinking_delta": "thinking", "toolcall_delta": "toolCall"}


def normalise(record: Record, at: int) -> ev.AnyEvent | None:
    """The event a record stands for, or None where it only repeats what another one says."""
    return _NORMALISERS[type(record)](record, at)


def _update(record: MessageUpdate, at: int) -> ev.AnyEvent | None:
    update = record.assistant_message_event
    kind: Any = _DELTA_KINDS.get(update.type)
    return ev.Delta(at=at, kind=kind, text=update.delta) if kind and update.delta else None


def _message_start(record: MessageStart, at: int) -> ev.AnyEvent | None:
    return ev.MessageStarted(at=at, role=record.message.role) if record.message.role == "assistant" else None


def _message_end(record: MessageEnd, at: int) -> ev.AnyEvent:
    message = record.message
    if message.role == "system":
        return _instructed(message, at)
    return ev.Message(
        at=at,
        role=message.role,
        parts=_parts(message),
        provider=message.provider,
        model=message.model,
        stop_reason=message.stop_reason,
        error_message=message.error_message,
        usage=message.usage.normalised() if message.usage else None,
        tool_call_id=message.tool_call_id,
        tool_name=message.tool_name,
        is_error=message.is_error,
    )


def _instructed(message: _Message, at: int) -> ev.AgentInstructed:
    sections = sum(len(text or "") for text in (message.sections or {}).values())
    plain = message.content if isinstance(message.content, str) else ""
    tools = tuple(tool.name for tool in message.tools_added or ())
    return ev.AgentInstructed(at=at, characters=sections + len(plain), tools=tools)


def _parts(message: _Message) -> tuple[ev.Part, ...]:
    content = message.content
    if content is None:
        content = message.summary or message.output
    if isinstance(content, str):
        return (ev.TextPart(content),) if content else ()
    if not isinstance(content, list):
        return ()
    return tuple(part for item in content if (part := _part(item)) is not None)


def _part(item: Any) -> ev.Part | None:
    if not isinstance(item, dict):
        return None
    match item:
        case {"type": "text", "text": str(text)}:
            return ev.TextPart(text)
        case {"type": "thinking", "thinking": str(text)}:
            return ev.ThinkingPart(text) if text else None
        case {"type": "toolCall", "name": str(name)}:
            arguments = item.get("arguments")
            return ev.ToolCallPart(str(item.get("id", "")), name, arguments if isinstance(arguments, dict) else {})
        case {"type": "image"}:
            return ev.ImagePart(str(item.get("mimeType", "")), len(str(item.get("data", ""))))
    return None


def _tool_start(record: ToolStart, at: int) -> ev.AnyEvent:
    arguments = record.args if isinstance(record.args, dict) else {}
    return ev.ToolStarted(at=at, id=record.tool_call_id, name=record.tool_name, arguments=arguments)


def _tool_update(record: ToolUpdate, at: int) -> ev.AnyEvent | None:
    line = _last_line(record.partial_result)
    return ev.ToolProgress(at=at, id=record.tool_call_id, name=record.tool_name, line=line) if line else None


def _last_line(result: Any) -> str:
    content = result.get("content") if isinstance(result, dict) else None
    for item in reversed(content) if isinstance(content, list) else ():
        match item:
            case {"type": "text", "text": str(text)} if text.strip():
                return text.rstrip().rsplit("\n", 1)[-1][:200]
    return ""


def _summary_retry(record: SummaryRetryScheduled, at: int) -> ev.AnyEvent:
    return ev.RetryStarted(
        at=at,
        attempt=record.attempt,
        max_attempts=record.max_attempts,
        delay_ms=int(record.delay_ms),
        message=record.error_message,
        what="summary",
    )


def _retry(record: RetryStart, at: int) -> ev.AnyEvent:
    return ev.RetryStarted(
        at=at,
        attempt=record.attempt,
        max_attempts=record.max_attempts,
        delay_ms=int(record.delay_ms),
        message=record.error_message,
    )


def _compaction_end(record: CompactionEnd, at: int) -> ev.AnyEvent:
    return ev.CompactionEnded(
        at=at,
        reason=record.reason,
        aborted=record.aborted,
        will_retry=record.will_retry,
        tokens_before=record.result.tokens_before if record.result else None,
        message=record.error_message,
    )


_NORMALISERS: dict[type, Callable[[Any, int], ev.AnyEvent | None]] = {
    Session: lambda r, at: ev.AgentSession(at=at, id=r.id, version=r.version),
    AgentStart: lambda _r, at: ev.AgentStarted(at=at),
    AgentEnd: lambda r, at: ev.AgentEnded(at=at, will_retry=r.will_retry),
    AgentSettled: lambda _r, at: ev.AgentSettled(at=at),
    TurnStart: lambda _r, at: ev.TurnStarted(at=at),
    TurnEnd: lambda r, at: ev.TurnEnded(at=at, tool_results=len(r.tool_results)),
    MessageStart: _message_start,
    MessageUpdate: _update,
    MessageEnd: _message_end,
    ToolStart: _tool_start,
    ToolUpdate: _tool_update,
    ToolEnd: lambda r, at: ev.ToolEnded(at=at, id=r.tool_call_id, name=r.tool_name, is_error=r.is_error),
    QueueUpdate: lambda r, at: ev.QueueChanged(at=at, steering=tuple(r.steering), follow_up=tuple(r.follow_up)),
    EntryAppended: lambda r, at: ev.EntryAppended(at=at, entry=r.entry.copy()),
    SessionInfoChanged: lambda r, at: ev.SessionRenamed(at=at, name=r.name),
    ThinkingLevelChanged: lambda r, at: ev.ThinkingLevelChanged(at=at, level=r.level),
    CompactionStart: lambda r, at: ev.CompactionStarted(at=at, reason=r.reason),
    CompactionEnd: _compaction_end,
    RetryStart: _retry,
    RetryEnd: lambda r, at: ev.RetryEnded(at=at, success=r.success, attempt=r.attempt, message=r.final_error),
    SummaryRetryScheduled: _summary_retry,
    SummaryRetryAttempt: lambda _r, _at: None,
    SummaryRetryFinished: lambda _r, at: ev.RetryEnded(at=at, what="summary"),
    ShellUpdate: lambda r, at: ev.ShellOutput(at=at, text=r.delta) if r.delta else None,
    ExtensionError: lambda r, at: ev.ExtensionFailed(at=at, path=r.extension_path, during=r.event, message=r.error),
}
