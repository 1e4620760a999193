"""The dialogue with `claude`: stream-json in both directions, and control requests.

Claude's own sub-agents write to the same stream, under the id of the call that started them; they count only as
progress of that call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from pi_subagents.harness.claude.drafts import Draft
from pi_subagents.harness.claude.launch import user_message
from pi_subagents.harness.claude.records import (
    complaint,
    control_request,
    control_response,
    doing,
    error_message,
    file_changed,
    files_written,
    is_untouched,
    model_usage,
    our_name,
    result_text,
)
from pi_subagents.harness.frames import (
    items_in,
    last_line,
    object_in,
    read_object,
    text_in,
    unknown,
    whole_in,
)
from pi_subagents.jsonl import Frame
from pi_subagents.models import event as ev
from pi_subagents.models.run import Usage

_LIMITS = ("error_max_turns", "error_max_budget_usd")
_HOPELESS = "authentication_failed"
_HOPELESS_TRIES = 2
"""A login may be renewed after the first refusal; with a wrong key claude would retry for minutes."""

_DENIED = "The person who gave you this task does not allow it. Go on without it, or say what you could not do."

Events = Iterator[ev.AnyEvent]
_CallBelow = tuple[str, str]


def _below(record: dict[str, Any], call_id: object) -> _CallBelow:
    """Which call of which of claude's own sub-agents."""
    return str(record.get("agent_id")), str(call_id)


class ClaudeDialogue:
    """The dialogue of one run."""

    def __init__(self) -> None:
        self._replies = b""
        self._draft: Draft | None = None
        self._session: str | None = None
        self._prompted = False
        self._calls: dict[str, str] = {}
        self._written_below: dict[_CallBelow, str] = {}
        self._requests: dict[str, dict[str, Any]] = {}
        self._background = 0
        self._refusals = 0
        self._stopped = False
        self._usage = Usage()
        self._has_cost = True
        self._context: int | None = None
        self._error: str | None = None

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        """The events one record stands for; never raises."""
        record, events = read_object(frame, at)
        if record is None:
            return events
        kind = text_in(record.get("type")) or ""
        handler = _HANDLERS.get(kind)
        if handler is None:
            return [*events, unknown(kind, record, at)]
        return [*events, *handler(self, record, at)]

    def take_replies(self) -> bytes:
        """The interrupt of an agent that retries in vain, and refusals of requests that we do not support."""
        replies, self._replies = self._replies, b""
        return replies

    def ended(self, exit_code: int, at: int) -> list[ev.AnyEvent]:
        """The unfinished message, if there is one."""
        return list(self._flush(at))

    def steer(self, text: str) -> bytes:
        """Claude reads it between two requests to the model."""
        return user_message(text)

    def abort(self) -> bytes:
        """An interrupt: claude settles and keeps what it said so far."""
        self._stopped = True
        return control_request("abort", subtype="interrupt")

    def answer(self, request_id: str, *, allowed: bool) -> bytes:
        """Allow or deny. Early 2.1 versions insist on getting the arguments back, and use those for the call."""
        arguments = self._requests.pop(request_id, None)
        verdict: dict[str, Any] = {"behavior": "deny", "message": _DENIED}
        if allowed:
            verdict = {"behavior": "allow"}
            if arguments is not None and is_untouched(arguments):
                verdict["updatedInput"] = arguments
        return control_response(request_id, subtype="success", response=verdict)

    # --- what it says about itself ------------------------------------------------------------------------

    def _system(self, record: dict[str, Any], at: int) -> Events:
        handler = _SYSTEM.get(text_in(record.get("subtype")) or "")
        if handler is None:
            yield unknown(f"system/{record.get('subtype')}", record, at)
        else:
            yield from handler(self, record, at)

    def _init(self, record: dict[str, Any], at: int) -> Events:
        """The first record of each turn."""
        session = text_in(record.get("session_id"))
        if session and session != self._session:
            self._session = session
            yield ev.AgentSession(at=at, id=session)
            tools = record.get("tools")
            names = tuple(map(our_name, filter(None, map(text_in, tools)))) if isinstance(tools, list) else ()
            yield ev.AgentInstructed(at=at, tools=names)
        yield ev.AgentStarted(at=at)

    def _retry(self, record: dict[str, Any], at: int) -> Events:
        """A retry: the message that broke off is dropped, since it will be streamed again."""
        self._draft = None
        error = text_in(record.get("error")) or "error"
        status = record.get("error_status")
        yield ev.MessageStarted(at=at, role="assistant")
        yield ev.RetryStarted(
            at=at,
            attempt=whole_in(record.get("attempt")) or 0,
            max_attempts=whole_in(record.get("max_retries")) or 0,
            delay_ms=whole_in(record.get("retry_delay_ms")) or 0,
            message=f"{status} {error}" if status else error,
        )
        self._refusals += error == _HOPELESS
        if self._refusals == _HOPELESS_TRIES:
            self._error = f"Claude's key or login was refused ({status} {error})"
            self._replies += control_request("hopeless", subtype="interrupt")

    def _tasks(self, record: dict[str, Any], at: int) -> Events:
        """Count background work: the run waits for it."""
        self._background = len(items_in(record.get("tasks")))
        yield from ()

    def _task_progress(self, record: dict[str, Any], at: int) -> Events:
        yield from self._progress(text_in(record.get("tool_use_id")), text_in(record.get("description")) or "", at)

    def _compacted(self, record: dict[str, Any], at: int) -> Events:
        facts = object_in(record.get("compact_metadata"))
        before = whole_in(facts.get("pre_tokens"))
        yield ev.CompactionEnded(
            at=at, reason=text_in(facts.get("trigger")) or "", tokens_before=before, will_retry=True
        )

    def _nothing(self, record: dict[str, Any], at: int) -> Events:
        """Ignored: repeats another record, or is meant for claude's own terminal."""
        yield from ()

    # --- messages -----------------------------------------------------------------------------------------

    def _stream(self, record: dict[str, Any], at: int) -> Events:
        if record.get("parent_tool_use_id") is not None:
            return
        event = object_in(record.get("event"))
        kind, draft = event.get("type"), self._draft
        if kind == "message_start":
            yield from self._begin(Draft.of(object_in(event.get("message")), is_streaming=True), at)
        elif draft is None:
            return
        elif kind == "content_block_delta" and (piece := draft.add_piece(event, at)):
            yield piece
        elif kind == "message_delta":
            draft.add_end(event)
        elif kind == "message_stop" and draft.is_over:  # if its stream broke off, claude may ask for it again
            yield from self._flush(at)

    def _assistant(self, record: dict[str, Any], at: int) -> Events:
        message = object_in(record.get("message"))
        if (parent := text_in(record.get("parent_tool_use_id"))) is not None:
            self._written_below |= {_below(record, call): path for call, path in files_written(message)}
            yield from self._progress(parent, doing(message), at)
            return
        if self._draft is None or self._draft.id != str(message.get("id")):
            yield from self._begin(Draft.of(message, is_streaming=False), at)
        if self._draft is not None:
            self._draft.add_block(record)

    def _begin(self, draft: Draft, at: int) -> Events:
        """Begin a message; one that broke off before is dropped, since this one is written in its place."""
        if self._draft is not None and self._draft.is_over:
            yield from self._flush(at)
        self._draft = draft
        yield ev.MessageStarted(at=at, role="assistant")

    def _flush(self, at: int) -> Events:
        """End the message that was being written, complete or not."""
        draft = self._draft
        if draft is not None and not draft.is_over and any(isinstance(part, ev.ToolCallPart) for part in draft.parts):
            yield from self._blocks(at)  # claude starts a tool as soon as its call is complete
        self._draft = None
        if draft is not None and draft.error is not None:
            self._error = draft.error
        elif draft is not None:
            self._context = draft.tokens.total_tokens or self._context
            yield from self._message(draft.message(at), at)

    def _blocks(self, at: int) -> Events:
        """What is complete of the message that is being written: what comes next belongs after it."""
        if self._draft is not None:
            yield from self._message(self._draft.take_blocks(at), at)

    def _message(self, message: ev.Message | None, at: int) -> Events:
        if message is None:
            return
        if message.stop_reason != "aborted" and self._refusals < _HOPELESS_TRIES:
            self._error, self._refusals = None, 0
        yield message
        for call in message.tool_calls:
            self._calls[call.id] = call.name
            yield ev.ToolStarted(at=at, id=call.id, name=call.name, arguments=call.arguments)

    def _user(self, record: dict[str, Any], at: int) -> Events:
        content = object_in(record.get("message")).get("content")
        if (parent := text_in(record.get("parent_tool_use_id"))) is not None:
            yield from self._changed_below(record, parent, at)
            return
        # Tool results may come before the end of the message with the calls.
        is_over = self._draft is None or self._draft.is_over
        yield from self._flush(at) if is_over else self._blocks(at)
        told = [ev.TextPart(content)] if isinstance(content, str) else []
        for item in items_in(content):
            if item.get("type") == "tool_result":
                yield from self._tool_result(item, record.get("tool_use_result"), at)
            elif text := text_in(item.get("text")):
                told.append(ev.TextPart(text))
        if told:
            if not self._prompted:
                yield ev.PromptAccepted(at=at)
            self._prompted = True
            # Claude also writes user messages to itself; they must not look as if a person had sent them.
            yield ev.Message(at=at, role="user" if record.get("isReplay") else "custom", parts=tuple(told))

    def _changed_below(self, record: dict[str, Any], parent: str, at: int) -> Events:
        """The files that tools of claude's own sub-agent have changed; of those it tells no diff."""
        for item in items_in(object_in(record.get("message")).get("content")):
            path = self._written_below.pop(_below(record, item.get("tool_use_id")), None)
            if path is not None and item.get("is_error") is not True:
                yield ev.FileChanged(at=at, path=path, tool_call_id=parent)

    def _tool_result(self, item: dict[str, Any], result: Any, at: int) -> Events:
        call_id = str(item.get("tool_use_id"))
        name, is_error = self._calls.pop(call_id, "tool"), item.get("is_error") is True
        if not is_error and (changed := file_changed(object_in(result), call_id, at)):
            yield changed
        yield ev.ToolEnded(at=at, id=call_id, name=name, is_error=is_error)
        text = result_text(item.get("content"))
        parts = (ev.TextPart(text),) if text else ()
        yield ev.Message(at=at, role="toolResult", parts=parts, tool_call_id=call_id, tool_name=name, is_error=is_error)

    def _progress(self, call_id: str | None, line: str, at: int) -> Events:
        if call_id is not None and line:
            yield ev.ToolProgress(at=at, id=call_id, name=self._calls.get(call_id, "agent"), line=last_line(line))

    # --- requests and the end -----------------------------------------------------------------------------

    def _control(self, record: dict[str, Any], at: int) -> Events:
        request, request_id = object_in(record.get("request")), str(record.get("request_id"))
        if request.get("subtype") != "can_use_tool":
            self._replies += control_response(request_id, subtype="error", error="not supported")
            yield unknown(f"control/{request.get('subtype')}", record, at)
            return
        yield from self._blocks(at)  # the call that it asks about
        name, arguments = text_in(request.get("tool_name")) or "tool", object_in(request.get("input"))
        self._requests[request_id] = arguments
        about = text_in(arguments.get("command") or arguments.get("file_path") or request.get("description")) or ""
        yield ev.ApprovalRequested(
            at=at,
            id=request_id,
            what=f"{name}: {last_line(about)}" if about else name,
            tool_name=our_name(name),
            tool_call_id=text_in(request.get("tool_use_id")),
        )

    def _result(self, record: dict[str, Any], at: int) -> Events:
        """The end of a turn; also of the run, unless background work or a queued message is left."""
        yield from self._flush(at)
        yield from self._total(record, at)
        subtype, reason = record.get("subtype"), text_in(record.get("terminal_reason")) or ""
        error, self._error = self._error, None
        if subtype in _LIMITS:
            yield error_message(complaint(record), at, ev.LIMIT)
        elif error is not None or (record.get("is_error") is True and not reason.startswith("aborted")):
            yield error_message(error or complaint(record), at, "error")
        elif reason.startswith("aborted") or self._stopped:
            yield ev.AgentSettled(at=at, aborted=True)
            return
        if not self._background and not record.get("queued_turn_count"):
            yield ev.AgentSettled(at=at)

    def _total(self, record: dict[str, Any], at: int) -> Events:
        """The usage so far. Versions before 2.1.309 do not say it; then the messages' own figures count."""
        if not isinstance(record.get("model_usage_since_last_result"), dict):
            return
        models = [object_in(model) for model in object_in(record.get("model_usage_since_last_result")).values()]
        sizes = [whole_in(model.get("contextWindow")) or 0 for model in models]
        for model in models:
            self._usage = self._usage + model_usage(model)
            # For an unknown model claude makes up a price.
            self._has_cost = self._has_cost and model.get("costBasis") != "unknown"
        usage = self._usage if self._has_cost else msgspec.structs.replace(self._usage, cost=0.0)
        size = max(sizes, default=0) or None
        yield ev.UsageTotal(at=at, usage=usage, context_used=self._context, context_size=size, has_cost=self._has_cost)


Handler = Callable[[ClaudeDialogue, dict[str, Any], int], Events]

_HANDLERS: Mapping[str, Handler] = {
    "system": ClaudeDialogue._system,
    "stream_event": ClaudeDialogue._stream,
    "assistant": ClaudeDialogue._assistant,
    "user": ClaudeDialogue._user,
    "result": ClaudeDialogue._result,
    "control_request": ClaudeDialogue._control,
    "control_response": ClaudeDialogue._nothing,
    "control_cancel_request": ClaudeDialogue._nothing,
    "keep_alive": ClaudeDialogue._nothing,
    "tool_progress": ClaudeDialogue._nothing,
}
_SYSTEM: Mapping[str, Handler] = {
    "init": ClaudeDialogue._init,
    "api_retry": ClaudeDialogue._retry,
    "background_tasks_changed": ClaudeDialogue._tasks,
    "task_progress": ClaudeDialogue._task_progress,
    "compact_boundary": ClaudeDialogue._compacted,
    **dict.fromkeys(
        ("status", "thinking_tokens", "task_started", "task_updated", "task_notification", "ui_invalidate"),
        ClaudeDialogue._nothing,
    ),
    "permission_denied": ClaudeDialogue._nothing,
}
