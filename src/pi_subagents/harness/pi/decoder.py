"""Decodes what `pi` prints. Whatever the bytes are, a run goes on and its journal says what came."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from pi_subagents.encoding import decoder_of
from pi_subagents.harness.frames import arguments_in, dropped, last_line, output, repair, text_in, whole_in
from pi_subagents.harness.pi import records as pi
from pi_subagents.jsonl import Frame, Oversized
from pi_subagents.models import event as ev

_DELTA_KINDS = {"text_delta": "text", "thinking_delta": "thinking", "toolcall_delta": "toolCall"}


def _update(record: pi.MessageUpdate, at: int) -> ev.AnyEvent | None:
    update = record.assistant_message_event
    kind: Any = _DELTA_KINDS.get(update.type)
    return ev.Delta(at=at, kind=kind, text=update.delta) if kind and update.delta else None


def _message_start(record: pi.MessageStart, at: int) -> ev.AnyEvent | None:
    return ev.MessageStarted(at=at, role=record.message.role) if record.message.role == "assistant" else None


def _message_end(record: pi.MessageEnd, at: int) -> ev.AnyEvent:
    message = record.message
    if message.role == "system":
        return _instructed(message, at)
    return ev.Message(
        at=at,
        role=message.role,
        parts=_parts(message),
        provider=message.provider,
        model=text_in(message.response_model) or message.model,
        stop_reason=message.stop_reason,
        error_message=message.error_message,
        usage=message.usage.normalised() if message.usage else None,
        tool_call_id=message.tool_call_id,
        tool_name=message.tool_name,
        is_error=message.is_error,
        nested_calls=_nested_calls(message.nested_calls),
    )


def _nested_calls(value: Any) -> tuple[ev.NestedCall, ...]:
    calls = value.get("calls") if isinstance(value, dict) else None
    return tuple(call for item in calls if (call := _nested_call(item))) if isinstance(calls, list) else ()


def _nested_call(item: Any) -> ev.NestedCall | None:
    match item:
        case {"name": str(name)}:
            return ev.NestedCall(
                name=name,
                arguments=arguments_in(item.get("arguments")),
                status=str(item.get("status", "ok")),
                duration_ms=whole_in(item.get("durationMs")),
            )
    return None


def _instructed(message: pi.WireMessage, at: int) -> ev.AgentInstructed:
    sections = sum(len(text or "") for text in (message.sections or {}).values())
    plain = sum(len(part.text) for part in _parts(message) if isinstance(part, ev.TextPart))
    tools = tuple(tool.name for tool in message.tools_added or ())
    return ev.AgentInstructed(at=at, characters=sections + plain, tools=tools)


def _parts(message: pi.WireMessage) -> tuple[ev.Part, ...]:
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
            return ev.ToolCallPart(str(item.get("id", "")), name, arguments_in(item.get("arguments")))
        case {"type": "image"}:
            return ev.ImagePart(str(item.get("mimeType", "")), len(str(item.get("data", ""))))
    return None


def _tool_start(record: pi.ToolStart, at: int) -> ev.AnyEvent:
    return ev.ToolStarted(at=at, id=record.tool_call_id, name=record.tool_name, arguments=arguments_in(record.args))


def _tool_update(record: pi.ToolUpdate, at: int) -> ev.AnyEvent | None:
    line = _last_line(record.partial_result)
    return ev.ToolProgress(at=at, id=record.tool_call_id, name=record.tool_name, line=line) if line else None


def _tool_end(record: pi.ToolEnd, at: int) -> ev.AnyEvent:
    duration_ms = whole_in(record.duration_ms)
    return ev.ToolEnded(
        at=at, id=record.tool_call_id, name=record.tool_name, is_error=record.is_error, duration_ms=duration_ms
    )


def _last_line(result: Any) -> str:
    content = result.get("content") if isinstance(result, dict) else None
    for item in reversed(content) if isinstance(content, list) else ():
        match item:
            case {"type": "text", "text": str(text)} if text.strip():
                return last_line(text)
    return ""


def _retry(record: pi.RetryStart, at: int) -> ev.AnyEvent:
    return ev.RetryStarted(
        at=at,
        attempt=record.attempt,
        max_attempts=record.max_attempts,
        delay_ms=whole_in(record.delay_ms) or 0,
        message=record.error_message,
        what="summary" if isinstance(record, pi.SummaryRetryScheduled) else "turn",
    )


def _compaction_end(record: pi.CompactionEnd, at: int) -> ev.AnyEvent:
    return ev.CompactionEnded(
        at=at,
        reason=record.reason,
        aborted=record.aborted,
        will_retry=record.will_retry,
        tokens_before=record.result.tokens_before if record.result else None,
        message=record.error_message,
    )


def _response(record: pi.Response, at: int) -> ev.AnyEvent | None:
    if not record.success:
        return ev.CommandRefused(at=at, command=record.command, message=record.error or "")
    if record.command == "prompt":
        disposition = record.data.get("disposition") if isinstance(record.data, dict) else None
        return ev.PromptAccepted(at=at, disposition=text_in(disposition))
    if record.command == "get_state" and isinstance(record.data, dict):
        return ev.AgentSession(at=at, id=str(record.data.get("sessionId", "")))
    return None


DIALOGS = frozenset({"select", "confirm", "input", "editor"})
"""Requests of extensions that wait for an answer."""


def _ui_request(record: pi.UiRequest, at: int) -> ev.AnyEvent | None:
    if record.method in DIALOGS:
        return ev.DialogDismissed(at=at, method=record.method, title=record.title or record.message or "")
    text = record.message or record.status_text or record.title
    return ev.ExtensionSpoke(at=at, method=record.method, text=text) if text else None


NORMALISERS: dict[type[msgspec.Struct], Callable[[Any, int], ev.AnyEvent | None]] = {
    pi.Session: lambda r, at: ev.AgentSession(at=at, id=r.id, version=r.version),
    pi.AgentStart: lambda _r, at: ev.AgentStarted(at=at),
    pi.AgentEnd: lambda r, at: ev.AgentEnded(at=at, will_retry=r.will_retry),
    pi.AgentSettled: lambda r, at: ev.AgentSettled(at=at, aborted=r.aborted if isinstance(r.aborted, bool) else None),
    pi.TurnStart: lambda _r, at: ev.TurnStarted(at=at),
    pi.TurnEnd: lambda r, at: ev.TurnEnded(at=at, tool_results=len(r.tool_results)),
    pi.MessageStart: _message_start,
    pi.MessageUpdate: _update,
    pi.MessageEnd: _message_end,
    pi.ToolStart: _tool_start,
    pi.ToolUpdate: _tool_update,
    pi.ToolEnd: _tool_end,
    pi.QueueUpdate: lambda r, at: ev.QueueChanged(at=at, steering=tuple(r.steering), follow_up=tuple(r.follow_up)),
    pi.EntryAppended: lambda r, at: ev.EntryAppended(at=at, entry=msgspec.Raw(msgspec.json.encode(r.entry))),
    pi.SessionInfoChanged: lambda r, at: ev.SessionRenamed(at=at, name=r.name),
    pi.ThinkingLevelChanged: lambda r, at: ev.ThinkingLevelChanged(at=at, level=r.level),
    pi.CompactionStart: lambda r, at: ev.CompactionStarted(at=at, reason=r.reason),
    pi.CompactionEnd: _compaction_end,
    pi.RetryStart: _retry,
    pi.RetryEnd: lambda r, at: ev.RetryEnded(at=at, success=r.success, attempt=r.attempt, message=r.final_error),
    pi.SummaryRetryScheduled: _retry,
    pi.SummaryRetryAttempt: lambda _r, _at: None,
    pi.SummaryRetryFinished: lambda _r, at: ev.RetryEnded(at=at, what="summary"),
    pi.Response: _response,
    pi.UiRequest: _ui_request,
    pi.ShellUpdate: lambda r, at: ev.ShellOutput(at=at, text=r.delta) if r.delta else None,
    pi.ExtensionError: lambda r, at: ev.ExtensionFailed(at=at, path=r.extension_path, during=r.event, message=r.error),
}
"""The event that each kind of record stands for, or None where it only repeats what another one says."""

_RECORD: msgspec.json.Decoder[Any] = decoder_of(reduce(or_, NORMALISERS))


class _Kind(msgspec.Struct):
    type: str


_KIND: msgspec.json.Decoder[_Kind] = decoder_of(_Kind)


class PiDecoder:
    """One record at a time, in order."""

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        if isinstance(frame, Oversized):
            return _oversized(frame, at)
        if not frame.lstrip().startswith(b"{"):  # no record; a flood of such lines need not be parsed
            return [output(frame, at)]
        events = _known(frame, at)
        return _unusual(frame, at) if events is None else events

    def take_replies(self) -> bytes:
        """Nothing that JSON mode prints wants an answer."""
        return b""

    def ended(self, exit_code: int, at: int) -> list[ev.AnyEvent]:
        """Nothing: `pi` says by itself when it has settled."""
        return []

    def steer(self, text: str) -> bytes | None:
        """JSON mode takes no messages."""
        return None

    def abort(self) -> bytes:
        """There is no such request: the process gets a signal."""
        return b""

    def answer(self, request_id: str, *, allowed: bool) -> bytes:
        """It asks for no permissions."""
        return b""


def _oversized(frame: Oversized, at: int) -> list[ev.AnyEvent]:
    events: list[ev.AnyEvent] = [dropped(frame, at)]
    # `agent_end` repeats the whole conversation and so is the record most likely to be too large; that the pass
    # ended is all it is needed for.
    if frame.head.startswith(b'{"type":"agent_end"'):
        events.append(ev.AgentEnded(at=at, will_retry=False))
    return events


def _known(frame: bytes, at: int) -> list[ev.AnyEvent] | None:
    """What a record of a known shape stands for; None if it is not one."""
    try:
        record = _RECORD.decode(frame)
        event = NORMALISERS[type(record)](record, at)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return [] if event is None else [event]


def _unusual(frame: bytes, at: int) -> list[ev.AnyEvent]:
    """A record that is not one of the known shapes: a new kind of event, damaged text, or no event at all."""
    if (kind := _kind_of(frame)) is not None:
        return [ev.Unknown(at=at, kind=kind, record=msgspec.Raw(frame))]
    repaired = repair(frame)
    if repaired is not None and (kind := _kind_of(repaired)) is not None:
        events = _known(repaired, at)
        unknown = ev.Unknown(at=at, kind=kind, record=msgspec.Raw(repaired))
        return [ev.Repaired(at=at, size=len(frame)), *([unknown] if events is None else events)]
    return [output(frame, at)]


def _kind_of(frame: bytes) -> str | None:
    """The kind of a record that is sound: the text of fields that are skipped is checked here, not by the decoder."""
    try:
        frame.decode()
        return _KIND.decode(frame).type
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
