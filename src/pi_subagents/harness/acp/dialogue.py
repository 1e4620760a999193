"""The Agent Client Protocol, version 1: JSON-RPC 2.0, a record a line.

An agent is told that its client offers it nothing, and hears "method not found" where it asks for anything but an
approval. It has finished when it has answered every prompt; chunks become messages here, since no record ends one.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.harness.acp.agents import AcpAgent
from pi_subagents.harness.frames import (
    object_in,
    read_object,
    text_in,
    unknown,
)
from pi_subagents.jsonl import Frame
from pi_subagents.models import event as ev


class Brief(msgspec.Struct, frozen=True):
    """What is to be asked, and of an agent how set up."""

    cwd: str
    prompt: str
    conversation: str | None = None
    model: str | None = None
    level: str | None = None
    mode: str | None = None


class _Call(msgspec.Struct):
    """A tool at work."""

    id: str
    name: str
    kind: str = ""
    title: str = ""
    path: str = ""
    arguments: dict[str, Any] = {}
    part: ev.ToolCallPart | None = None
    """As it was announced."""
    has_ended: bool = False


class _Refused(Exception):
    """The agent cannot be set up as it is to be."""


_Talk = Generator[tuple[str, dict[str, Any]], dict[str, Any], None]

_METHOD_NOT_FOUND = {"code": -32601, "message": "Method not found"}
_AUTHENTICATION_REQUIRED = -32000
_ENDS: Mapping[object, tuple[str, str | None]] = {
    "end_turn": ("stop", None),
    "cancelled": ("aborted", None),
    "max_turn_requests": ("limit", "The agent has had as many turns as it may have"),
    "max_tokens": ("error", "The answer was cut off at the model's output limit; what arrived is kept"),
    "refusal": ("error", "The model refuses to go on"),
}
"""What the answer to a prompt says, as the stop reason of the last message and as a sentence."""
_KINDS = {"read": "read", "edit": "edit", "execute": "bash", "search": "grep", "fetch": "webfetch"}
_NOT_TOLD = frozenset(
    {"available_commands_update", "config_option_update", "current_mode_update", "session_info_update"}
    | {"plan", "user_message_chunk"}
)
"""Updates that say nothing of the work."""
_CONTEXT_LINES = 3


def _message(**fields: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **fields}) + b"\n"


_HELLO = {
    "protocolVersion": 1,
    "clientCapabilities": {},
    "clientInfo": {"name": "pi-subagents", "version": "1"},
}
OPENING = _message(id=1, method="initialize", params=_HELLO)


class AcpDialogue:
    """One conversation with one agent."""

    def __init__(self, agent: AcpAgent, brief: Brief) -> None:
        self._agent = agent
        self._brief = brief
        self._at = 0
        self._events: list[ev.AnyEvent] = []
        self._replies = b""
        self._session: str | None = None
        self._model = ""
        self._talk = self._set_up()
        next(self._talk)  # which is said in the opening
        self._waiting_for, self._last_id = 1, 1
        self._prompts: set[int] = set()
        self._is_at_work = self._has_settled = False
        self._parts: list[tuple[str, str]] = []
        self._message_id: object = None
        self._calls: dict[str, _Call] = {}
        self._requests: dict[str, tuple[Any, list[dict[str, Any]]]] = {}
        self._said: list[str] = []
        self._context: dict[str, Any] = {}

    # --- what the supervisor asks ---------------------------------------------------------------------------

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        """The events one record stands for; never raises."""
        self._at = at
        record, self._events = read_object(frame, at)
        if record is not None:
            self._heed(record)
        return self._events

    def take_replies(self) -> bytes:
        """What follows from what was heard."""
        replies, self._replies = self._replies, b""
        return replies

    def ended(self, exit_code: int, at: int) -> list[ev.AnyEvent]:
        """What came after the answer to the prompt, if anything did."""
        self._at, self._events = at, []
        if self._has_settled:
            self._flush("stop")
        return self._events

    def steer(self, text: str) -> bytes | None:
        """Another prompt, where that joins the work that goes on."""
        if not (self._agent.joins_prompts and self._prompts):
            return None
        self._said.append(text)
        return self._prompt(text)

    def abort(self) -> bytes:
        """Cancel the work; nothing where none has begun."""
        return self._tell("session/cancel") if self._prompts else b""

    def answer(self, request_id: str, *, allowed: bool) -> bytes:
        """Pick what is offered for this one time."""
        given, options = self._requests.pop(request_id, (None, []))
        kinds = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
        picked = next((option for kind in kinds for option in options if option.get("kind") == kind), None)
        chosen = {"outcome": "selected", "optionId": picked.get("optionId")} if picked else {"outcome": "cancelled"}
        return _message(id=given, result={"outcome": chosen})

    # --- one record -----------------------------------------------------------------------------------------

    def _heed(self, record: dict[str, Any]) -> None:
        method, given, params = record.get("method"), record.get("id"), object_in(record.get("params"))
        if method == "session/request_permission":
            self._asked(given, params)
        elif isinstance(method, str) and "id" in record:
            self._replies += _message(id=given, error=_METHOD_NOT_FOUND)
        elif method == "session/update" and params.get("sessionId") in (self._session, None):
            self._told(object_in(params.get("update")), record)
        elif method == "session/update" and self._session is None:
            pass  # some speak of a conversation before they have said its name
        elif type(given) is int and given in self._prompts:
            self._answered(given, record)
        elif type(given) is int and given == self._waiting_for and not self._is_at_work:
            self._go_on(record)
        else:
            self._events.append(unknown(method or "answer", record, self._at))

    def _go_on(self, record: dict[str, Any]) -> None:
        """The next step of setting up, or why there is none."""
        self._waiting_for = 0
        try:
            if "error" in record:
                raise _Refused(self._sentence(record["error"]))
            method, params = self._talk.send(object_in(record.get("result")))
        except StopIteration:
            self._is_at_work = True
            self._events.append(ev.AgentStarted(at=self._at))
            self._replies += self._prompt(self._brief.prompt)
        except _Refused as refused:
            self._events.append(ev.CommandRefused(at=self._at, command="prompt", message=str(refused)))
        else:
            self._waiting_for = self._last_id = self._last_id + 1
            self._replies += _message(id=self._last_id, method=method, params=params)

    def _set_up(self) -> _Talk:
        """Every request before the prompt, in order; sent what its answer says."""
        brief = self._brief
        about = object_in((yield "initialize", _HELLO).get("agentCapabilities"))
        method, named = "session/new", {}
        if brief.conversation:
            resumes = "resume" in object_in(about.get("sessionCapabilities"))
            method, named = ("session/resume" if resumes else "session/load"), {"sessionId": brief.conversation}
        opened = yield method, {"cwd": brief.cwd, "mcpServers": [], **named}
        self._session = text_in(opened.get("sessionId")) or brief.conversation
        if self._session is None:
            raise _Refused("The agent gave its conversation no name")
        self._events.append(ev.AgentSession(at=self._at, id=self._session))
        options, session = opened, {"sessionId": self._session}
        if brief.model and (option := _option(options, "model")):
            asked = {**session, "configId": option.get("id"), "value": brief.model}
            options = (yield "session/set_config_option", asked) or options
        elif brief.model and "models" in opened:
            yield "session/set_model", {**session, "modelId": brief.model}
        elif brief.model:
            raise _Refused("The agent cannot be told which model to use")
        if brief.level and (option := _option(options, "thought_level")):
            level = _nearest(brief.level, option)
            yield "session/set_config_option", {**session, "configId": option.get("id"), "value": level}
            self._events.append(ev.ThinkingLevelChanged(at=self._at, level=level))
        if brief.mode:
            yield "session/set_mode", {**session, "modeId": brief.mode}
        current = object_in(opened.get("models")).get("currentModelId")
        self._model = brief.model or text_in((_option(options, "model") or {}).get("currentValue", current)) or ""

    def _prompt(self, text: str) -> bytes:
        self._last_id += 1
        self._prompts.add(self._last_id)
        text = f" {text}" if self._agent.swallows_slash and text.startswith("/") else text
        content = [{"type": "text", "text": text.encode("utf-8", "replace").decode()}]
        return self._tell("session/prompt", id=self._last_id, prompt=content)

    def _tell(self, method: str, *, id: int | None = None, **params: Any) -> bytes:
        numbered = {} if id is None else {"id": id}
        return _message(**numbered, method=method, params={"sessionId": self._session, **params})

    def _answered(self, prompt: int, record: dict[str, Any]) -> None:
        self._prompts.discard(prompt)
        result = object_in(record.get("result"))
        stop = result.get("stopReason")
        reason, sentence = _ENDS.get(str(stop), ("error", f"The agent stopped for a reason that is not known: {stop}"))
        if "error" in record:
            self._prompts.clear()
            reason, sentence = "error", self._sentence(record["error"])
        if self._prompts:
            return
        for call in [call for call in self._calls.values() if call.part and not call.has_ended]:
            self._end(call, {}, is_error=True)
        self._flush(reason, sentence)
        self._count(result)
        self._has_settled = True
        self._events.append(ev.AgentSettled(at=self._at, aborted=True if reason == "aborted" else None))

    def _sentence(self, error: Any) -> str:
        """The provider's own words, which some agents wrap in JSON."""
        error = object_in(error)
        sentence = (text_in(error.get("message")) or "The agent failed").removeprefix("Internal error: ")
        data = object_in(error.get("data"))
        details = text_in(data.get("details")) or text_in(data.get("message"))
        if details and details not in sentence:
            sentence = f"{sentence}: {details}"
        try:
            sentence = text_in(object_in(decode_json(sentence.encode(), dict[str, Any]).get("error"))["message"]) or sentence
        except (JsonError, KeyError):
            pass
        return f"{sentence}. {self._agent.log_in}" if error.get("code") == _AUTHENTICATION_REQUIRED else sentence

    # --- the work -------------------------------------------------------------------------------------------

    def _told(self, update: dict[str, Any], record: dict[str, Any]) -> None:
        kind = update.get("sessionUpdate")
        if kind == "usage_update":
            self._context = update
        elif kind in ("agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"):
            if not self._is_at_work:
                return  # what was said before, told again
            if kind in ("tool_call", "tool_call_update"):
                self._tool(update)
            else:
                self._chunk("text" if kind == "agent_message_chunk" else "thinking", update)
        elif kind not in _NOT_TOLD:
            self._events.append(unknown(kind, record, self._at))

    def _chunk(self, kind: str, update: dict[str, Any]) -> None:
        text, message_id = text_in(object_in(update.get("content")).get("text")), update.get("messageId")
        if not text:
            return
        if any(part == "text" for part, _ in self._parts) and (kind != "text" or message_id != self._message_id):
            self._flush("stop")
        if kind == "text":
            self._message_id = message_id
        self._begin()
        if self._parts and self._parts[-1][0] == kind:
            text_before = self._parts.pop()[1]
            self._parts.append((kind, text_before + text))
        else:
            self._parts.append((kind, text))
        self._events.append(ev.Delta(at=self._at, kind=kind, text=text))
