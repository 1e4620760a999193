"""The Agent Client Protocol, version 1: JSON-RPC 2.0, a record a line.

An agent is told that its client offers it nothing, and hears "method not found" where it asks for anything but an
approval. It has finished when it has answered every prompt; chunks become messages here, since no record ends one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import unified_diff
from typing import Any

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.harness.acp.agents import AcpAgent
from pi_subagents.harness.frames import (
    figure_in,
    items_in,
    last_line,
    object_in,
    read_object,
    text_in,
    tool_call,
    unknown,
)
from pi_subagents.jsonl import Frame
from pi_subagents.models import event as ev
from pi_subagents.models.run import Usage, bounded
from pi_subagents.models.task import ThinkingLevel


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
    is_denied: bool = False

    def learn(self, update: dict[str, Any]) -> None:
        """What an update says of it; nothing changes what was announced."""
        if self.part is None:
            self.kind = text_in(update.get("kind")) or self.kind
            self.title = text_in(update.get("title")) or self.title
            self.arguments = object_in(update.get("rawInput")) or self.arguments
        places = (text_in(place.get("path")) for place in items_in(update.get("locations")))
        self.path = self.path or next(filter(None, places), "")

    @property
    def told(self) -> dict[str, Any]:
        """What it was called with; of an agent that does not say, what its title and its places give away."""
        if self.arguments:
            return self.arguments
        if self.kind == "execute":
            return {"command": self.title}
        return {"path": self.path} if self.path else {"title": self.title}


class _RefusedError(Exception):
    """The agent cannot be set up as it is to be."""


_Talk = Generator[tuple[str, dict[str, Any]], dict[str, Any], None]

_BEFORE_SLASH = "The task:\n"
"""So that no agent takes a prompt for one of its commands; they do not look at the space before it."""
_PING = "_pi_subagents/ping"
"""A request that no agent knows, and every agent answers."""
_METHOD_NOT_FOUND = {"code": -32601, "message": "Method not found"}
_NOT_LOGGED_IN = -32000
_ENDS: Mapping[object, tuple[str, str | None]] = {
    "end_turn": ("stop", None),
    "cancelled": ("aborted", None),
    "max_turn_requests": (ev.LIMIT, "The agent has had as many turns as it may have"),
    "max_tokens": ("error", "The answer was cut off at the model's output limit; what arrived is kept"),
    "refusal": ("error", "The model refuses to go on"),
}
"""What the answer to a prompt says, as the stop reason of the last message and as a sentence."""
_FIGURES = (
    ("inputTokens", "input_tokens"),
    ("outputTokens", "output_tokens"),
    ("cachedReadTokens",),
    ("cachedWriteTokens",),
    ("totalTokens", "input_tokens", "output_tokens"),
)
"""What usage is called, in the order of ours."""
_NOT_TOLD = frozenset(
    {"available_commands_update", "config_option_update", "current_mode_update", "session_info_update"}
    | {"plan", "user_message_chunk"}
)
"""Updates that say nothing of the work."""
_MAX_DIFF_LINES = 20_000
"""Comparing more of them takes too long."""


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
        self._last_id = 1
        self._waiting_for: int | None = 1
        self._prompts: set[int] = set()
        self._is_at_work = self._has_settled = self._is_ping = False
        self._told_again = 0
        self._parts: list[tuple[str, list[str]]] = []
        self._message_id: object = None
        self._last_chunk = ""
        self._message_count = 0
        self._steps: list[dict[str, Any]] = []
        self._calls: dict[str, _Call] = {}
        self._requests: dict[str, tuple[Any, list[dict[str, Any]], _Call | None]] = {}
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
        if request_id not in self._requests:
            return b""
        given, options, call = self._requests.pop(request_id)
        if call is not None:
            call.is_denied = not allowed
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
        elif method == "session/update" and self._session in (None, params.get("sessionId")):
            self._told(object_in(params.get("update")), record)
        elif type(given) is int and given in self._prompts:
            self._answered(given, record)
        elif type(given) is int and given == self._waiting_for:
            self._go_on(record)
        else:
            self._events.append(unknown(method or "answer", record, self._at))

    def _go_on(self, record: dict[str, Any]) -> None:
        """The next step of setting up, or why there is none."""
        self._waiting_for = None
        try:
            if "error" in record and not self._is_ping:
                raise _RefusedError(self._sentence(record["error"]))
            method, params = self._talk.send(object_in(record.get("result")))
        except StopIteration:
            self._is_at_work = True
            self._said.append(self._brief.prompt)
            self._events.append(ev.AgentStarted(at=self._at))
            self._hear()
            self._replies += self._prompt(self._brief.prompt)
        except _RefusedError as refused:
            self._events.append(ev.CommandRefused(at=self._at, command="prompt", message=str(refused)))
        else:
            self._waiting_for = self._last_id = self._last_id + 1
            self._is_ping = method == _PING
            self._replies += _message(id=self._last_id, method=method, params=params)

    def _set_up(self) -> _Talk:
        """Every request before the prompt, in order; sent what its answer says."""
        brief = self._brief
        hello = yield "initialize", _HELLO
        if (version := hello.get("protocolVersion", 1)) != 1:
            raise _RefusedError(f"The agent speaks version {version} of its protocol, and only version 1 is known")
        offered = object_in(object_in(hello.get("agentCapabilities")).get("sessionCapabilities"))
        method, named = "session/new", {}
        if brief.conversation:
            method, named = (
                "session/resume" if "resume" in offered else "session/load",
                {"sessionId": brief.conversation},
            )
            if "list" in offered:
                known = items_in((yield "session/list", {}).get("sessions"))
                cwd = next((one.get("cwd") for one in known if one.get("sessionId") == brief.conversation), None)
                if cwd not in (None, brief.cwd):  # it would go on there, whatever it is told now
                    raise _RefusedError(f"The agent can go on with this conversation only in {cwd}, where it began")
        opened = yield method, {"cwd": brief.cwd, "mcpServers": [], **named}
        self._session = text_in(opened.get("sessionId")) or brief.conversation
        if self._session is None:
            raise _RefusedError("The agent gave its conversation no name")
        self._events.append(ev.AgentSession(at=self._at, id=self._session))
        options, session = opened, {"sessionId": self._session}
        told_again = -1
        while method == "session/load" and told_again != self._told_again:  # some have not finished with that here
            told_again = self._told_again
            yield _PING, {}
        if brief.model and (option := _option(options, "model")):
            asked = {**session, "configId": option.get("id"), "value": brief.model}
            options = (yield "session/set_config_option", asked) or options
        elif brief.model and "models" in opened:
            yield "session/set_model", {**session, "modelId": brief.model}
        elif brief.model:
            raise _RefusedError("The agent cannot be told which model to use")
        if brief.level and (option := _option(options, "thought_level")):
            level = _nearest(brief.level, option)
            yield "session/set_config_option", {**session, "configId": option.get("id"), "value": level}
            self._events.append(ev.ThinkingLevelChanged(at=self._at, level=level))
        if brief.mode:
            yield "session/set_mode", {**session, "modeId": brief.mode}
        current = object_in(opened.get("models")).get("currentModelId")
        model = text_in((_option(options, "model") or {}).get("currentValue", current)) or ""
        self._model = brief.model or ("" if "|" in model else model)  # of qwen it is a list of many things

    def _prompt(self, text: str) -> bytes:
        self._last_id += 1
        self._prompts.add(self._last_id)
        text = f"{_BEFORE_SLASH}{text}" if text.startswith("/") else text
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
        if reason == "stop" and self._last_chunk.startswith(self._agent.error_prefix or "\0"):
            reason, sentence = "error", self._last_chunk.removeprefix(self._agent.error_prefix).strip()
        if "error" in record:
            self._prompts.clear()
            reason, sentence = "error", self._sentence(record["error"])
        if self._prompts:
            return
        self._end_all(self._calls.values())
        self._flush(reason, sentence)
        self._count(result)
        self._has_settled = True
        self._events.append(ev.AgentSettled(at=self._at, aborted=True if reason == "aborted" else None))

    def _sentence(self, error: Any) -> str:
        """The provider's own words, which some agents wrap in JSON."""
        error = object_in(error)
        sentence = text_in(error.get("message")) or "The agent failed"
        data = object_in(error.get("data"))
        if details := text_in(data.get("details")) or text_in(data.get("message")):
            sentence = details if sentence == "Internal error" else f"{sentence}: {details}"
        with suppress(JsonError):
            wrapped = object_in(decode_json(sentence.encode("utf-8", "replace"), dict[str, Any]).get("error"))
            sentence = text_in(wrapped.get("message")) or sentence
        sentence = sentence.removeprefix("Internal error: ")
        return f"{sentence} (to log in: {self._agent.log_in})" if error.get("code") == _NOT_LOGGED_IN else sentence

    # --- the work -------------------------------------------------------------------------------------------

    def _told(self, update: dict[str, Any], record: dict[str, Any]) -> None:
        kind = text_in(update.get("sessionUpdate"))
        if kind == "usage_update":
            self._context = update
        elif kind in ("agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"):
            if not self._is_at_work:
                self._told_again += 1
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
        if any(part == "text" for part, _ in self._parts) and (kind != "text" or message_id != self._message_id):
            self._flush("stop")
        if kind == "text":
            self._message_id, self._last_chunk = message_id, text
        self._begin()
        if not self._parts or self._parts[-1][0] != kind:
            self._parts.append((kind, []))
        self._parts[-1][1].append(text)
        self._events.append(ev.Delta(at=self._at, kind=kind, text=text))

    def _begin(self) -> None:
        """Another message, unless one is being written; whatever somebody said meanwhile is heard before it."""
        if not self._parts:
            self._end_all(call for call in self._calls.values() if call.is_denied)  # not all agents say so
            self._message_count += 1
            self._hear()
            self._events.append(ev.MessageStarted(at=self._at, role="assistant"))

    def _hear(self) -> None:
        said, self._said = self._said, []
        self._events += [ev.Message(at=self._at, role="user", parts=(ev.TextPart(text),)) for text in said]

    def _flush(self, reason: str, sentence: str | None = None, call: ev.ToolCallPart | None = None) -> None:
        """What was written is a message, with the call at its end; without either, only if something went wrong."""
        said = [(kind, "".join(pieces)) for kind, pieces in self._parts]
        parts: list[ev.Part] = [ev.TextPart(t) if kind == "text" else ev.ThinkingPart(t) for kind, t in said]
        self._parts = []
        if call is not None:
            parts.append(call)
        if parts or sentence:
            provider, _, model = self._model.rpartition("/")
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

    def _tool(self, update: dict[str, Any], *, waits: bool = False) -> _Call | None:
        call_id, status = text_in(update.get("toolCallId")), text_in(update.get("status"))
        if call_id is None:
            return None
        call = self._calls.setdefault(call_id, _Call(call_id, self._agent.tool_in(update)))
        call.learn(update)
        is_over = status in ("completed", "failed")
        if call.part is None and (is_over or waits or status == "in_progress" or call.arguments.keys() - {"cwd"}):
            call.part = tool_call(call_id, call.name, call.told, self._agent.tools)
            self._begin()
            self._flush("toolUse", call=call.part)
            started = ev.ToolStarted(at=self._at, id=call_id, name=call.part.name, arguments=call.part.arguments)
            self._events.append(started)
        if call.part is None or call.has_ended:
            return call
        if is_over:
            self._end(call, update, is_error=status == "failed")
        elif update.get("sessionUpdate") == "tool_call_update" and (line := last_line(_text(update))):
            self._events.append(ev.ToolProgress(at=self._at, id=call_id, name=call.part.name, line=line))
        return call

    def _end_all(self, calls: Iterable[_Call]) -> None:
        """Whatever has not been said to have ended has not done what it was to do."""
        for call in calls:
            if call.part and not call.has_ended:
                self._end(call, {}, is_error=True)

    def _end(self, call: _Call, update: dict[str, Any], *, is_error: bool) -> None:
        assert call.part is not None
        call.has_ended, name = True, call.part.name
        raw = object_in(update.get("rawOutput"))
        is_error = is_error or bool(_exit_code(raw)) or text_in(update.get("title")) in self._agent.failed_titles
        if not is_error:
            changes = _changes(call, update, raw)
            self._events += [ev.FileChanged(at=self._at, path=p, diff=d, tool_call_id=call.id) for p, d in changes]
        text = _text(update) or next(
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
        """Whether it may do something; somebody answers."""
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
        """What the run has used, as far as that is what the agent tells."""
        quota = object_in(object_in(object_in(result.get("_meta")).get("quota")).get("token_count"))
        steps = [told] if (told := object_in(result.get("usage"))) else self._steps or [quota]
        tokens = [sum(figure_in(step.get(name)) or 0 for step in steps for name in names) for names in _FIGURES]
        if self._agent.tells_last_step and self._message_count > 1:
            tokens = [0] * len(_FIGURES)  # nobody knows what the others used
        cost = figure_in(object_in(self._context.get("cost")).get("amount")) or 0
        names = {call.name for call in self._calls.values()}
        has_cost = bool(cost) and not self._brief.conversation and not names & self._agent.delegating
        used, size = (int(bounded(figure_in(self._context.get(name)))) or None for name in ("used", "size"))
        usage = Usage.of(*tokens, cost if has_cost else 0)
        self._events.append(
            ev.UsageTotal(at=self._at, usage=usage, context_used=used, context_size=size, has_cost=has_cost)
        )


def _option(session: dict[str, Any], category: str) -> dict[str, Any] | None:
    options = items_in(session.get("configOptions"))
    return next((option for option in options if category in (option.get("category"), option.get("id"))), None)


def _nearest(level: str, option: dict[str, Any]) -> str:
    """The offered level that is the same, or the nearest to it in our order."""
    offered = [value for item in items_in(option.get("options")) if (value := text_in(item.get("value")))]
    order = list(map(str, ThinkingLevel))
    known = [value for value in offered if value in order]
    if level in offered or level not in order or not known:
        return level
    return min(known, key=lambda value: abs(order.index(value) - order.index(level)))


def _text(update: dict[str, Any]) -> str:
    contents = (object_in(item.get("content")) for item in items_in(update.get("content")))
    return "\n".join(text for content in contents if (text := text_in(content.get("text"))))


def _exit_code(raw: dict[str, Any]) -> float | None:
    places = (raw, object_in(raw.get("metadata")), *items_in(raw.get("contents")))
    return next((code for place in places for key in ("exit", "exitCode") if (code := figure_in(place.get(key)))), None)


def _changes(call: _Call, update: dict[str, Any], raw: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each file that a call has changed, with the difference if the agent tells it."""
    metadata = object_in(raw.get("metadata"))
    whole = text_in(metadata.get("diff")) or (text_in(raw.get("detailedContent")) if call.kind == "edit" else None)
    diffs = [item for item in items_in(update.get("content")) if item.get("type") == "diff"]
    for item in diffs:
        given = whole if len(diffs) == 1 else None
        path = text_in(item.get("path")) or call.path
        yield path, given or _diff(path, text_in(item.get("oldText")) or "", text_in(item.get("newText")) or "")
    if not diffs and call.kind == "edit" and call.path:
        is_new = metadata.get("exists") is False
        yield call.path, _diff(call.path, "", text_in(call.arguments.get("content")) or "") if is_new else whole or ""


def _diff(path: str, old: str, new: str) -> str:
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _MAX_DIFF_LINES:
        return ""
    return "\n".join(unified_diff(before, after, path, path, lineterm=""))
