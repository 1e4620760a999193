"""The Agent Client Protocol, version 1: JSON-RPC 2.0, one record per line.

We offer the agent no client capabilities, and answer every request except one for permission with "method not found".
It has finished when it has answered every prompt. No record ends a message, so this joins chunks into messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from pi_subagents.harness.acp.agents import AcpAgent
from pi_subagents.harness.acp.answers import ending_in, tokens_in
from pi_subagents.harness.acp.calls import Call, changes_by, exit_code_in, text_of
from pi_subagents.harness.acp.setup import Brief, Setup, message
from pi_subagents.harness.frames import (
    answered_in,
    figure_in,
    items_in,
    last_line,
    object_in,
    read_object,
    request_in,
    text_in,
    tool_call,
    unknown,
)
from pi_subagents.jsonl import Frame, Oversized
from pi_subagents.models import event as ev
from pi_subagents.models.run import Usage, bounded
from pi_subagents.text.streamed import StreamedText

_BEFORE_SLASH = "The task:\n"
"""Put before a prompt that begins with a slash, so that no agent takes it for a command; a space is not enough."""
_TOO_LARGE = {"code": -32600, "message": "The request is too large"}
_METHOD_NOT_FOUND = {"code": -32601, "message": "Method not found"}
_NOT_TOLD = frozenset(
    {"available_commands_update", "config_option_update", "current_mode_update", "session_info_update"}
    | {"plan", "user_message_chunk"}
)
"""Updates that say nothing about the work."""


class AcpDialogue:
    """The dialogue with one agent during one run."""

    def __init__(self, agent: AcpAgent, brief: Brief) -> None:
        self._agent = agent
        self._brief = brief
        self._at = 0
        self._events: list[ev.AnyEvent] = []
        self._replies = b""
        self._setup = Setup(brief, agent.log_in)
        self._prompts: set[int] = set()
        self._main_prompt: int | None = None
        self._verdict: tuple[str, str | None] = ("stop", None)
        self._is_at_work = self._has_settled = False
        self._parts: list[tuple[str, StreamedText]] = []
        self._answer: tuple[ev.Part, ...] = ()
        self._message_id: object = None
        self._message_count = self._chunk_count = 0
        self._steps: list[dict[str, Any]] = []
        self._calls: dict[str, Call] = {}
        self._requests: dict[str, tuple[Any, list[dict[str, Any]], Call | None]] = {}
        self._denied: list[Call] = []
        self._said: list[str] = []
        self._context: dict[str, Any] = {}

    # --- what the supervisor asks ---------------------------------------------------------------------------

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        """The events one record stands for; never raises."""
        self._at = at
        record, self._events = read_object(frame, at)
        if record is not None:
            self._heed(record)
        elif isinstance(frame, Oversized):
            self._heed_unread(frame)
        return self._events

    def take_replies(self) -> bytes:
        """What to send because of the records decoded so far."""
        replies, self._replies = self._replies, b""
        return replies

    def ended(self, exit_code: int, at: int) -> list[ev.AnyEvent]:
        """What came after the answer to the prompt, if anything, together with what it is the end of."""
        self._at, self._events = at, []
        if self._has_settled and self._parts:
            self._flush(*self._verdict, before=self._answer)
        return self._events

    def steer(self, text: str) -> bytes | None:
        """Another prompt, if the agent adds that to its current work."""
        if not (self._agent.joins_prompts and self._prompts):
            return None
        self._said.append(text)
        return self._prompt(text)

    def abort(self) -> bytes:
        """Cancel the work; empty if none has begun."""
        return self._tell("session/cancel") if self._prompts else b""

    def answer(self, request_id: str, *, allowed: bool) -> bytes:
        """Pick an offered option that allows or rejects, preferably for this one time only."""
        if request_id not in self._requests:
            return b""
        given, options, call = self._requests.pop(request_id)
        if call is not None and not allowed:
            self._denied.append(call)
        kinds = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
        picked = next((option for kind in kinds for option in options if option.get("kind") == kind), None)
        chosen = {"outcome": "selected", "optionId": picked.get("optionId")} if picked else {"outcome": "cancelled"}
        return message(id=given, result={"outcome": chosen})

    # --- one record -----------------------------------------------------------------------------------------

    def _heed(self, record: dict[str, Any]) -> None:
        method, given, params = record.get("method"), record.get("id"), object_in(record.get("params"))
        if method == "session/request_permission":
            self._asked(given, params)
        elif isinstance(method, str) and "id" in record:
            self._replies += message(id=given, error=_METHOD_NOT_FOUND)
        elif method == "session/update" and self._setup.session in (None, params.get("sessionId")):
            self._told(object_in(params.get("update")), record)
        elif type(given) is int and given in self._prompts:
            self._answered(given, record)
        elif self._setup.awaits(given):
            self._go_on(record)
        else:
            self._events.append(unknown(method or "answer", record, self._at))

    def _heed_unread(self, frame: Oversized) -> None:
        """A record that is too large to keep: whoever waits for an answer must get one, we included."""
        if (request := request_in(frame)) is not None:
            self._replies += message(id=request, error=_TOO_LARGE)
        elif (answered := answered_in(frame)) in self._prompts or self._setup.awaits(answered):
            self._heed({"id": answered, "error": {"message": "The agent's answer is too large to read"}})

    def _go_on(self, answer: dict[str, Any]) -> None:
        """Send the next request of the setup; if it is complete, the prompt."""
        self._events += self._setup.take(answer, self._at)
        self._replies += self._setup.request
        if self._setup.is_done:
            self._is_at_work = True
            self._said.append(self._brief.prompt)
            self._events.append(ev.AgentStarted(at=self._at))
            self._hear()
            self._replies += self._prompt(self._brief.prompt)
            (self._main_prompt,) = self._prompts

    def _prompt(self, text: str) -> bytes:
        given = self._setup.next_id()
        self._prompts.add(given)
        text = f"{_BEFORE_SLASH}{text}" if text.startswith("/") else text
        content = [{"type": "text", "text": text.encode("utf-8", "replace").decode()}]
        return self._tell("session/prompt", id=given, prompt=content)

    def _tell(self, method: str, *, id: int | None = None, **params: Any) -> bytes:
        numbered = {} if id is None else {"id": id}
        return message(**numbered, method=method, params={"sessionId": self._setup.session, **params})

    def _answered(self, prompt: int, record: dict[str, Any]) -> None:
        self._prompts.discard(prompt)
        result = object_in(record.get("result"))
        reason, sentence = ending_in(record, self._agent.log_in)
        if "error" in record and prompt != self._main_prompt:
            self._said.clear()
            self._events.append(ev.CommandRefused(at=self._at, command="steer", message=sentence or ""))
        elif self._verdict[0] == "stop":
            self._verdict = reason, sentence
        if "error" in record and prompt == self._main_prompt:
            self._prompts.clear()
        if self._prompts:
            return
        self._end_all(self._calls.values())
        if self._verdict[0] == "stop" and (error := self._error_said(result)):
            self._verdict = "error", error
        self._flush(*self._verdict)
        self._count(result)
        self._has_settled = True
        self._events.append(ev.AgentSettled(at=self._at, aborted=True if self._verdict[0] == "aborted" else None))

    def _error_said(self, result: dict[str, Any]) -> str | None:
        """The error that is the whole of the last message, where an agent says errors as if it were the model."""
        prefix = self._agent.error_prefix
        only = str(self._parts[0][1]) if len(self._parts) == 1 else ""
        # A model's answer comes in several pieces, or with the figures of its one request.
        has_figures = self._message_count == 1 and bool(object_in(result.get("usage")))
        is_the_models = (self._chunk_count > 1 or has_figures) and only not in self._agent.errors
        return only.removeprefix(prefix).strip() if prefix and only.startswith(prefix) and not is_the_models else None

    # --- the work -------------------------------------------------------------------------------------------

    def _told(self, update: dict[str, Any], record: dict[str, Any]) -> None:
        kind = text_in(update.get("sessionUpdate"))
        if kind == "usage_update":
            self._context = update
        elif kind in ("agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"):
            if not self._is_at_work:
                self._setup.replayed += 1
                return
            if kind in ("tool_call", "tool_call_update"):
                self._tool(update)
            else:
                self._chunk("text" if kind == "agent_message_chunk" else "thinking", update)
        elif kind not in _NOT_TOLD:
            self._events.append(unknown(kind, record, self._at))

    def _chunk(self, kind: str, update: dict[str, Any]) -> None:
        text, message_id = text_in(object_in(update.get("content")).get("text")), update.get("messageId")
        if usage := object_in(object_in(update.get("_meta")).get("usage")):
            self._steps.append(usage)
        if not text:
            return
        above = text_in(object_in(update.get("_meta")).get("parentToolCallId"))
        if above is not None:  # an agent below says it: a sign of life, and not the answer
            if (call := self._calls.get(above)) and call.part and (line := last_line(text)):
                self._events.append(ev.ToolProgress(at=self._at, id=above, name=call.part.name, line=line))
            return
        if self._is_notice(text):
            self._notice(text)
            return
        if any(part == "text" for part, _ in self._parts) and (kind != "text" or message_id != self._message_id):
            self._flush("stop")
        if kind == "text":
            self._message_id = message_id
        self._begin()
        if not self._parts or self._parts[-1][0] != kind:
            self._parts.append((kind, StreamedText()))
        self._parts[-1][1].add(text)
        self._chunk_count += 1
        self._events.append(ev.Delta(at=self._at, kind=kind, text=text))

    def _is_notice(self, text: str) -> bool:
        """Whether the agent itself says that; when in doubt, it is the model's."""
        agent = self._agent
        if text in agent.notices or text == agent.retry_notice != "":
            return True
        if not agent.notice_prefix or not text.startswith(agent.notice_prefix):
            return False
        named = text.removeprefix(agent.notice_prefix)
        return any(named in (call.path, call.arguments.get("path")) for call in self._calls.values()) and bool(named)

    def _notice(self, text: str) -> None:
        """Something that the agent says beside its model; an answer that broke off comes again."""
        if text == self._agent.retry_notice:
            self._parts = []
            self._events += [
                ev.MessageStarted(at=self._at, role="assistant"),
                ev.RetryStarted(at=self._at, message=text.removeprefix(self._agent.notice_prefix)),
            ]
        else:
            self._events.append(ev.Message(at=self._at, role="custom", parts=(ev.TextPart(text),)))

    def _begin(self) -> None:
        """Begin a message unless one is open; steering messages sent meanwhile come before it."""
        if not self._parts:
            denied, self._denied = self._denied, []
            self._end_all(denied)  # not all agents end them
            self._message_count += 1
            self._chunk_count = 0
            self._hear()
            self._events.append(ev.MessageStarted(at=self._at, role="assistant"))

    def _hear(self) -> None:
        said, self._said = self._said, []
        self._events += [ev.Message(at=self._at, role="user", parts=(ev.TextPart(text),)) for text in said]

    def _flush(
        self,
        reason: str,
        sentence: str | None = None,
        call: ev.ToolCallPart | None = None,
        before: Sequence[ev.Part] = (),
    ) -> None:
        """End the message: its text, then the call. An empty message is recorded only if it has an error."""
        parts = _joined(before, [(kind, str(text)) for kind, text in self._parts])
        self._parts = []
        if call is not None:
            parts.append(call)
        self._answer = tuple(parts)
        if parts or sentence:
            provider, _, model = self._setup.model.rpartition("/")
            self._events.append(
                ev.Message(
                    at=self._at,
                    role="assistant",
                    parts=tuple(parts),
                    provider=provider or None,
                    model=model or None,
                    stop_reason=reason,
                    error_message=sentence,
                )
            )

    def _tool(self, update: dict[str, Any], *, waits: bool = False) -> Call | None:
        call_id, status = text_in(update.get("toolCallId")), text_in(update.get("status"))
        if call_id is None:
            return None
        call = self._calls.setdefault(call_id, Call(call_id, self._agent.tool_in(update)))
        call.learn(update)
        is_over = status in ("completed", "failed")
        if call.part is None and (is_over or waits or status == "in_progress" or call.arguments.keys() - {"cwd"}):
            call.part = msgspec.structs.replace(
                tool_call(call_id, call.name, call.told, self._agent.tools), is_guessed=call.is_guessed
            )
            self._begin()
            self._flush("toolUse", call=call.part)
            started = ev.ToolStarted(at=self._at, id=call_id, name=call.part.name, arguments=call.part.arguments)
            self._events.append(started)
        if call.part is None or call.has_ended:
            return call
        if is_over:
            self._end(call, update, is_error=status == "failed")
        elif update.get("sessionUpdate") == "tool_call_update" and (line := last_line(text_of(update))):
            self._events.append(ev.ToolProgress(at=self._at, id=call_id, name=call.part.name, line=line))
        return call

    def _end_all(self, calls: Iterable[Call]) -> None:
        """End calls whose end the agent did not report, as failed."""
        for call in calls:
            if call.part and not call.has_ended:
                self._end(call, {}, is_error=True)

    def _end(self, call: Call, update: dict[str, Any], *, is_error: bool) -> None:
        assert call.part is not None
        call.has_ended, name = True, call.part.name
        raw = object_in(update.get("rawOutput"))
        is_error = is_error or bool(exit_code_in(raw)) or text_in(update.get("title")) in self._agent.failed_titles
        if not is_error:
            changes = changes_by(call, update, raw)
            self._events += [ev.FileChanged(at=self._at, path=p, diff=d, tool_call_id=call.id) for p, d in changes]
        text = text_of(update) or next(
            filter(None, (text_in(raw.get(key)) for key in ("output", "content", "error"))), ""
        )
        self._events += [
            ev.ToolEnded(at=self._at, id=call.id, name=name, is_error=is_error),
            ev.Message(
                at=self._at,
                role="toolResult",
                parts=(ev.TextPart(text),) if text else (),
                tool_call_id=call.id,
                tool_name=name,
                is_error=is_error,
            ),
        ]

    def _asked(self, given: Any, params: dict[str, Any]) -> None:
        """A request for permission, which the supervisor answers."""
        asked = object_in(params.get("toolCall"))
        call = self._tool({**asked, "status": None}, waits=True)
        self._requests[str(given)] = (given, items_in(params.get("options")), call)
        self._events.append(
            ev.ApprovalRequested(
                at=self._at,
                id=str(given),
                what=text_in(asked.get("title")) or "",
                tool_name=call.part.name if call and call.part else None,
                tool_call_id=call.id if call else None,
            )
        )

    def _count(self, result: dict[str, Any]) -> None:
        """Report the usage of the run, as far as the agent's figures cover all of it."""
        one_of_many = self._agent.tells_last_step and self._message_count > 1  # the other steps are unknown
        tokens = [0.0] * 5 if one_of_many else tokens_in(result, self._steps)
        cost = figure_in(object_in(self._context.get("cost")).get("amount")) or 0
        names = {call.name for call in self._calls.values()}
        has_cost = bool(cost) and not self._brief.conversation and not names & self._agent.delegating
        used, size = (int(bounded(figure_in(self._context.get(name)))) or None for name in ("used", "size"))
        usage = Usage.of(*tokens, cost if has_cost else 0)
        self._events.append(
            ev.UsageTotal(at=self._at, usage=usage, context_used=used, context_size=size, has_cost=has_cost)
        )


def _joined(parts: Sequence[ev.Part], said: Sequence[tuple[str, str]]) -> list[ev.Part]:
    """The parts, followed by what was said; text that follows text is its end."""
    joined = list(parts)
    for kind, text in said:
        if kind == "text" and joined and isinstance(joined[-1], ev.TextPart):
            joined[-1] = ev.TextPart(joined[-1].text + text)
        else:
            joined.append(ev.TextPart(text) if kind == "text" else ev.ThinkingPart(text))
    return joined
