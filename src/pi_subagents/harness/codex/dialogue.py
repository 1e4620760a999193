"""The dialogue with `codex app-server` about one task: a thread, one turn in it, and the items of that turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from pi_subagents.harness.codex.items import (
    WAITING,
    Meter,
    Record,
    call_in,
    changes_in,
    has_failed,
    has_own_arguments,
    output_in,
    raw_call,
    result_in,
    script_in,
    sentence_in,
)
from pi_subagents.harness.frames import items_in, last_line, object_in, read_object, text_in, unknown, whole_in
from pi_subagents.jsonl import Frame, Oversized
from pi_subagents.models import event as ev
from pi_subagents.text.patterns import pattern
from pi_subagents.text.streamed import StreamedText

Events = list[ev.AnyEvent]

_QUIET = (
    *("thread/started", "thread/status/changed", "thread/settings/updated", "thread/readState/changed"),
    *("thread/goal/cleared", "turn/diff/updated", "turn/plan/updated", "account/rateLimits/updated"),
    *("account/updated", "remoteControl/status/changed", "configWarning", "deprecationNotice"),
    *("mcpServer/startupStatus/updated", "item/reasoning/summaryPartAdded", "item/fileChange/outputDelta"),
    *("item/fileChange/patchUpdated", "item/commandExecution/terminalInteraction", "rawResponse/completed"),
    "serverRequest/resolved",
)
"""Notifications that we do not need; the server is asked not to send them."""
_COMMAND, _CHANGE = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"
_PERMISSIONS, _ELICITATION = "item/permissions/requestApproval", "mcpServer/elicitation/request"
_QUESTION = "item/tool/requestUserInput"
_END = b'"method":"turn/completed"'
_ATTEMPT = pattern(r"\b(\d{1,6})/(\d{1,6})\b")


def _record(**fields: Any) -> bytes:
    return msgspec.json.encode(fields) + b"\n"


def _request(name: str, method: str, **params: Any) -> bytes:
    """A request whose id is a name; the answer repeats it."""
    return _record(id=name, method=method, params=params)


def initialize() -> bytes:
    """The first request to a server."""
    capabilities = {"experimentalApi": True, "optOutNotificationMethods": _QUIET}
    client = {"name": "pi_subagents", "title": "pi-subagents", "version": "1"}
    return _request("initialize", "initialize", clientInfo=client, capabilities=capabilities)


def text_input(text: str) -> dict[str, str]:
    """A text in the form that codex expects."""
    return {"type": "text", "text": text.encode("utf-8", "replace").decode()}


class _Draft(msgspec.Struct):
    """What has arrived of the message that the model is writing."""

    is_open: bool = False
    thinking: StreamedText = msgspec.field(default_factory=StreamedText)
    text: StreamedText = msgspec.field(default_factory=StreamedText)


class CodexDialogue:
    """Starts the thread and the turn of the brief; ignores the threads of codex's own sub-agents."""

    def __init__(self, brief: Mapping[str, Any]) -> None:
        self._brief = brief
        self._replies = b""
        self._thread: str | None = None
        self._turn: str | None = None
        self._model: str | None = None
        self._draft = _Draft()
        self._running: dict[str, ev.ToolCallPart] = {}
        self._begun: set[str] = set()
        self._raw: dict[str, ev.ToolCallPart] = {}
        self._requests: dict[str, tuple[Any, str, Record]] = {}
        self._meter = Meter()

    # --- what we send -------------------------------------------------------------------------------------

    def take_replies(self) -> bytes:
        """What to send because of the records decoded so far."""
        replies, self._replies = self._replies, b""
        return replies

    def steer(self, text: str) -> bytes | None:
        """A message for the current turn; None if there is none."""
        if self._turn is None:
            return None
        where = {"threadId": self._thread, "expectedTurnId": self._turn}
        return _request("steer", "turn/steer", **where, input=[text_input(text)])

    def abort(self) -> bytes:
        """Ends the turn; its commands end with the process. Empty if there is no turn: a signal must do."""
        if self._turn is None:
            return b""
        return _request("abort", "turn/interrupt", threadId=self._thread, turnId=self._turn)

    def answer(self, request_id: str, *, allowed: bool) -> bytes:
        """The answer, in the form that the kind of request expects."""
        if (request := self._requests.pop(request_id, None)) is None:
            return b""
        theirs, method, params = request
        word = "accept" if allowed else "decline"
        result: Record = {"decision": word}
        if method == _PERMISSIONS:
            result = {"permissions": object_in(params.get("permissions")) if allowed else {}}
        elif method == _ELICITATION:
            result = {"action": word, "content": {} if allowed else None}
        return _record(id=theirs, result=result)

    # --- what it says -------------------------------------------------------------------------------------

    def decode(self, frame: Frame, at: int) -> Events:
        """The events one record stands for; never raises."""
        record, events = read_object(frame, at)
        if record is None:
            is_end = isinstance(frame, Oversized) and _END in frame.head
            return [*events, ev.AgentSettled(at=at)] if is_end else events
        method, params = text_in(record.get("method")), object_in(record.get("params"))
        if method is None:
            return [*events, *self._answered(record, at)]
        if "id" in record:
            return [*events, *self._asked(record, method, params, at)]
        return [*events, *self._told(record, method, params, at)]

    def ended(self, exit_code: int, at: int) -> Events:
        """Nothing: codex says when it is done."""
        return []

    def _told(self, record: Record, method: str, params: Record, at: int) -> Events:
        thread = text_in(params.get("threadId"))
        if method == "thread/tokenUsage/updated":
            return self._used(params, thread, at)
        if method == "turn/started":
            self._meter.begin(thread)
        if method in _QUIET or thread not in (None, self._thread):
            return []
        handler = _HANDLERS.get(method)
        return handler(self, params, at) if handler else [unknown(method, record, at)]

    def _answered(self, record: Record, at: int) -> Events:
        name, result = record.get("id"), object_in(record.get("result"))
        if "error" in record:
            command = name if name in ("steer", "abort") else "prompt"
            return [ev.CommandRefused(at=at, command=command, message=sentence_in(record["error"]))]
        if name == "initialize":
            self._replies += _record(method="initialized")
            self._replies += _request("skills", "skills/list", cwds=[self._brief["thread"]["cwd"]])
        elif name == "skills":
            self._begin_thread(result)
        elif name == "thread":
            return self._thread_begun(result, at)
        elif name == "turn":
            self._turn = text_in(object_in(result.get("turn")).get("id"))
            return [ev.PromptAccepted(at=at)]
        return []

    def _begin_thread(self, skills: Record) -> None:
        """Start or resume the thread. Unwanted skills are switched off: `$name` in a prompt would still load them."""
        told: Record = self._brief["thread"]
        config: Record = told["config"]
        found = [skill for where in items_in(skills.get("data")) for skill in items_in(where.get("skills"))]
        if config.get("skills.include_instructions") is not False:
            of_project = ("repo",) if "projects" in config else ()
            found = [skill for skill in found if skill.get("enabled") is False or skill.get("scope") in of_project]
        if found:
            config = {**config, "skills.config": [{"path": skill.get("path"), "enabled": False} for skill in found]}
        method = "thread/resume" if "threadId" in told else "thread/start"
        self._replies += _request("thread", method, **{**told, "config": config})

    def _thread_begun(self, result: Record, at: int) -> Events:
        self._thread = text_in(object_in(result.get("thread")).get("id"))
        if self._thread is None:
            return [ev.CommandRefused(at=at, command="prompt", message="codex did not say which thread it started")]
        self._model = text_in(result.get("model"))
        self._replies += _request("turn", "turn/start", threadId=self._thread, **self._brief["turn"])
        return [ev.AgentSession(at=at, id=self._thread)]

    def _asked(self, record: Record, method: str, params: Record, at: int) -> Events:
        """A request for permission, or a question for a user who is not there. It may come from any thread."""
        theirs = record["id"]
        form = object_in(object_in(params.get("requestedSchema")).get("properties"))
        if method in (_COMMAND, _CHANGE, _PERMISSIONS) or (method == _ELICITATION and not form):
            self._requests[str(theirs)] = (theirs, method, params)
            return [self._approval_requested(str(theirs), params, at)]
        if method in (_QUESTION, _ELICITATION):
            result: Record = {"answers": {}} if method == _QUESTION else {"action": "decline", "content": None}
            self._replies += _record(id=theirs, result=result)
            questions = [*(one.get("question") for one in items_in(params.get("questions"))), params.get("message")]
            return [ev.DialogDismissed(at=at, method=method, title=next(filter(None, map(text_in, questions)), ""))]
        self._replies += _record(id=theirs, error={"code": -32601, "message": "not supported"})
        return [unknown(method, record, at)]

    def _approval_requested(self, name: str, params: Record, at: int) -> ev.ApprovalRequested:
        call = self._running.get(str(params.get("itemId")))
        known = call.arguments if call else {}
        wanted = (script_in(params), known.get("path"), params.get("reason"), params.get("message"))
        what = next(filter(None, map(text_in, wanted)), "")
        call_id = text_in(params.get("itemId"))
        return ev.ApprovalRequested(
            at=at, id=name, what=what, tool_name=call.name if call else None, tool_call_id=call_id
        )

    def _used(self, params: Record, thread: str | None, at: int) -> Events:
        figures = object_in(params.get("tokenUsage"))
        if (usage := self._meter.read(thread, object_in(figures.get("total")))) is None:
            return []
        used, size = object_in(figures.get("last")).get("totalTokens"), figures.get("modelContextWindow")
        context = (whole_in(used), whole_in(size)) if thread == self._thread else (None, None)
        return [ev.UsageTotal(at=at, usage=usage, context_used=context[0], context_size=context[1], has_cost=False)]

    # --- the turn and its messages ------------------------------------------------------------------------

    def _turn_started(self, params: Record, at: int) -> Events:
        self._turn = text_in(object_in(params.get("turn")).get("id")) or self._turn
        return [ev.AgentStarted(at=at), ev.TurnStarted(at=at)]

    def _turn_completed(self, params: Record, at: int) -> Events:
        turn = object_in(params.get("turn"))
        status, self._turn = turn.get("status"), None
        cut = status in ("failed", "interrupted")
        left, self._running = self._running.values(), {}
        events: Events = [ev.ToolEnded(at=at, id=call.id, name=call.name, is_error=cut) for call in left]
        if status == "failed":
            events.append(self._message(at, "error", error=sentence_in(turn.get("error"))))
        elif self._draft.text or self._draft.thinking:
            events.append(self._message(at, "aborted" if cut else "stop"))
        return [*events, ev.TurnEnded(at=at), ev.AgentSettled(at=at, aborted=status == "interrupted")]

    def _error(self, params: Record, at: int) -> Events:
        """A retry; a final error comes with the end of the turn instead."""
        if not params.get("willRetry"):
            return []
        self._draft = _Draft()  # the retry will repeat it
        error = object_in(params.get("error"))
        said = text_in(error.get("message")) or ""
        attempt, most = map(int, found.groups()) if (found := _ATTEMPT.search(said)) else (0, 0)
        message = text_in(error.get("additionalDetails")) or said
        return [ev.RetryStarted(at=at, attempt=attempt, max_attempts=most, message=message)]

    def _message(
        self, at: int, stop_reason: str, *calls: ev.Part, text: str | None = None, error: str | None = None
    ) -> ev.Message:
        """A message with what the model thought and said since the last one, and its calls."""
        draft, self._draft = self._draft, _Draft()
        words = (ev.ThinkingPart(str(draft.thinking)), ev.TextPart(text or str(draft.text)))
        parts = (*(part for part in words if part.text), *calls)
        about: Record = {"model": self._model, "stop_reason": stop_reason, "error_message": error}
        return ev.Message(at=at, role="assistant", parts=parts, **about)

    def _opened(self, at: int) -> Events:
        was_open, self._draft.is_open = self._draft.is_open, True
        return [] if was_open else [ev.MessageStarted(at=at, role="assistant")]

    def _said(self, params: Record, at: int) -> Events:
        text = text_in(params.get("delta")) or ""
        self._draft.text.add(text)
        return [ev.Delta(at=at, kind="text", text=text)]

    def _thought(self, params: Record, at: int) -> Events:
        text = text_in(params.get("delta")) or ""
        self._draft.thinking.add(text)
        return [ev.Delta(at=at, kind="thinking", text=text)]

    def _rerouted(self, params: Record, at: int) -> Events:
        self._model = text_in(params.get("toModel")) or self._model
        return []

    def _warned(self, params: Record, at: int) -> Events:
        return [ev.ExtensionSpoke(at=at, method="warning", text=text_in(params.get("message")) or "")]

    # --- items --------------------------------------------------------------------------------------------

    def _item_started(self, params: Record, at: int) -> Events:
        item = object_in(params.get("item"))
        match item.get("type"):
            case "agentMessage" | "reasoning":
                return self._opened(at)
            case "contextCompaction":
                return [ev.CompactionStarted(at=at)]
        call = call_in(item)
        # Codex starts a search before it knows for what: such a call is told when it has its arguments.
        return self._call_started(call, at) if call and (call.arguments or has_own_arguments(item)) else []

    def _item_completed(self, params: Record, at: int) -> Events:
        item = object_in(params.get("item"))
        match item.get("type"):
            case "agentMessage":
                text = text_in(item.get("text"))
                return [self._message(at, "stop", text=text)] if text or self._draft.text else []
            case "reasoning":
                return []  # already streamed; it belongs to the next message
            case "userMessage":
                texts = (text_in(part.get("text")) for part in items_in(item.get("content")))
                return [ev.Message(at=at, role="user", parts=tuple(ev.TextPart(text) for text in texts if text))]
            case "contextCompaction":
                return [ev.CompactionEnded(at=at)]
        if (call := call_in(item)) is None:
            return [] if item.get("tool") in WAITING else [unknown(f"item/{item.get('type')}", item, at)]
        events = [] if call.id in self._running else self._call_started(call, at)
        failed = item.get("status") in ("failed", "declined") or item.get("success") is False
        changes = [] if failed else changes_in(item, at)
        return [*events, *changes, *self._call_ended(call, failed, result_in(item), item.get("durationMs"), at)]

    def _raw_item(self, params: Record, at: int) -> Events:
        """A raw call; needed for calls that fail before codex makes an item of them."""
        item = object_in(params.get("item"))
        kind, call_id = str(item.get("type")), str(item.get("call_id"))
        if kind in ("function_call", "custom_tool_call") and item.get("name") not in WAITING:
            self._raw[call_id] = raw_call(item)
        elif kind.endswith("_call_output") and (call := self._raw.pop(call_id, None)) and call_id not in self._begun:
            output = output_in(item)
            events = self._call_started(call, at)
            return [*events, *self._call_ended(call, has_failed(call, output), output, None, at)]
        return []

    def _call_started(self, call: ev.ToolCallPart, at: int) -> Events:
        self._running[call.id] = call
        self._begun.add(call.id)
        started = ev.ToolStarted(at=at, id=call.id, name=call.name, arguments=call.arguments)
        return [self._message(at, "toolUse", call), started]

    def _call_ended(self, call: ev.ToolCallPart, failed: bool, text: str, duration: object, at: int) -> Events:
        self._running.pop(call.id, None)
        measured = whole_in(duration)
        ended = ev.ToolEnded(at=at, id=call.id, name=call.name, is_error=failed, duration_ms=measured)
        parts = (ev.TextPart(text),) if text else ()
        about: Record = {"tool_call_id": call.id, "tool_name": call.name, "is_error": failed}
        return [ended, ev.Message(at=at, role="toolResult", parts=parts, **about)]

    def _progress(self, params: Record, at: int) -> Events:
        call = self._running.get(str(params.get("itemId")))
        line = last_line(text_in(params.get("delta")) or text_in(params.get("message")) or "")
        return [ev.ToolProgress(at=at, id=call.id, name=call.name, line=line)] if call and line else []


_HANDLERS: Mapping[str, Callable[[CodexDialogue, Record, int], Events]] = {
    "turn/started": CodexDialogue._turn_started,
    "turn/completed": CodexDialogue._turn_completed,
    "error": CodexDialogue._error,
    "item/started": CodexDialogue._item_started,
    "item/completed": CodexDialogue._item_completed,
    "rawResponseItem/completed": CodexDialogue._raw_item,
    "item/agentMessage/delta": CodexDialogue._said,
    "item/reasoning/summaryTextDelta": CodexDialogue._thought,
    "item/reasoning/textDelta": CodexDialogue._thought,
    "item/commandExecution/outputDelta": CodexDialogue._progress,
    "item/mcpToolCall/progress": CodexDialogue._progress,
    "model/rerouted": CodexDialogue._rerouted,
    "warning": CodexDialogue._warned,
    "guardianWarning": CodexDialogue._warned,
}
