"""What is said to an agent before the prompt: opens its conversation, and sets its model, thinking level and mode."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import msgspec

from pi_subagents.harness.acp.answers import level_for, option_in, sentence_in
from pi_subagents.harness.frames import items_in, object_in, text_in
from pi_subagents.models import event as ev


class Brief(msgspec.Struct, frozen=True):
    """The prompt, and how to set up the session for it."""

    cwd: str
    prompt: str
    conversation: str | None = None
    model: str | None = None
    level: str | None = None
    mode: str | None = None


def message(**fields: Any) -> bytes:
    """A record for the agent."""
    return msgspec.json.encode({"jsonrpc": "2.0", **fields}) + b"\n"


_HELLO = {
    "protocolVersion": 1,
    "clientCapabilities": {},
    "clientInfo": {"name": "pi-subagents", "version": "1"},
}
OPENING = message(id=1, method="initialize", params=_HELLO)
"""The first request."""
_PING = "_pi_subagents/ping"
"""A request that no agent knows, but every agent answers: with an error."""

_Answer = dict[str, Any]
_Requests = Generator[tuple[str, dict[str, Any]], _Answer, None]


class _RefusedError(Exception):
    """The agent cannot be set up as requested."""


class Setup:
    """The requests before the prompt, each sent when the one before it has been answered; `OPENING` was the first."""

    def __init__(self, brief: Brief, log_in: str) -> None:
        self.session: str | None = None
        self.model = ""
        self.is_done = False
        self.replayed = 0
        """How many updates of an earlier conversation have been told again."""
        self.request = b""
        """What to send now."""
        self._brief = brief
        self._log_in = log_in
        self._last_id = 1
        self._is_waiting = True
        self._is_ping = False
        self._events: list[ev.AnyEvent] = []
        self._requests = self._all()
        next(self._requests)

    def awaits(self, answered: Any) -> bool:
        """Whether that is the id of the request that has not been answered yet."""
        return self._is_waiting and type(answered) is int and answered == self._last_id

    def next_id(self) -> int:
        """An id for another request."""
        self._last_id += 1
        return self._last_id

    def take(self, answer: dict[str, Any], at: int) -> list[ev.AnyEvent]:
        """Take in the answer to the last request; then `request` is the next one, unless the setup is over."""
        self._events, self.request, self._is_waiting = [], b"", False
        try:
            if "error" in answer and not self._is_ping:
                raise _RefusedError(sentence_in(answer["error"], self._log_in))
            method, params = self._requests.send(object_in(answer.get("result")))
        except StopIteration:
            self.is_done = True
        except _RefusedError as refused:
            self._events.append(ev.CommandRefused(command="prompt", message=str(refused)))
        else:
            self._is_waiting, self._is_ping = True, method == _PING
            self.request = message(id=self.next_id(), method=method, params=params)
        return [msgspec.structs.replace(event, at=at) for event in self._events]

    # --- the requests; each is answered with its result -----------------------------------------------------------

    def _all(self) -> _Requests:
        hello = yield "initialize", _HELLO
        if (version := hello.get("protocolVersion", 1)) != 1:
            raise _RefusedError(f"The agent speaks version {version} of ACP, but only version 1 is supported")
        opened = yield from self._opened(
            object_in(object_in(hello.get("agentCapabilities")).get("sessionCapabilities"))
        )
        options = yield from self._with_model(opened)
        if self._brief.level:
            yield from self._with_level(self._brief.level, options)
        if self._brief.mode:
            yield "session/set_mode", {"sessionId": self.session, "modeId": self._brief.mode}
        current = object_in(opened.get("models")).get("currentModelId")
        model = text_in((option_in(options, "model") or {}).get("currentValue", current)) or ""
        self.model = self._brief.model or ("" if "|" in model else model)  # qwen puts several things into it

    def _opened(self, offered: dict[str, Any]) -> Generator[tuple[str, dict[str, Any]], _Answer, _Answer]:
        """Open a conversation, or the one to go on with; returns what the agent says of it."""
        brief, method, named = self._brief, "session/new", {}
        if brief.conversation:
            method, named = (
                "session/resume" if "resume" in offered else "session/load",
                {"sessionId": brief.conversation},
            )
            if "list" in offered:
                known = items_in((yield "session/list", {}).get("sessions"))
                cwd = next((one.get("cwd") for one in known if one.get("sessionId") == brief.conversation), None)
                if cwd not in (None, brief.cwd):  # it would continue in that directory, whatever we say
                    raise _RefusedError(f"The agent can continue this conversation only in {cwd}, where it began")
        opened = yield method, {"cwd": brief.cwd, "mcpServers": [], **named}
        self.session = text_in(opened.get("sessionId")) or brief.conversation
        if self.session is None:
            raise _RefusedError("The agent gave its conversation no id")
        if brief.conversation and self.session != brief.conversation:
            raise _RefusedError("The agent began a new conversation instead of continuing the earlier one")
        self._events.append(ev.AgentSession(id=self.session))
        replayed = -1
        # Some agents go on replaying the old conversation after they have answered.
        while method == "session/load" and replayed != self.replayed:
            replayed = self.replayed
            yield _PING, {}
        return opened

    def _with_model(self, opened: _Answer) -> Generator[tuple[str, dict[str, Any]], _Answer, _Answer]:
        """Choose the model; returns the options that there are with it."""
        model = self._brief.model
        if model and (option := option_in(opened, "model")):
            asked = {"sessionId": self.session, "configId": option.get("id"), "value": model}
            return (yield "session/set_config_option", asked) or opened
        if model and "models" in opened:
            yield "session/set_model", {"sessionId": self.session, "modelId": model}
        elif model:
            raise _RefusedError("The agent does not support choosing a model")
        return opened

    def _with_level(self, wanted: str, options: _Answer) -> _Requests:
        """Set the thinking level or the nearest that is offered; if it is another one, the event has a note."""
        option = option_in(options, "thought_level") or {}
        level = level_for(wanted, option)
        if level is None:
            name = text_in(option.get("currentValue")) or ""
            note = f'The agent offers no thinking level like "{wanted}", so it uses its default.'
        else:
            name = level.name
            note = f'The thinking level "{wanted}" becomes "{name}", the nearest that the agent offers.'
            asked = {"sessionId": self.session, "configId": option.get("id"), "value": level.own}
            yield "session/set_config_option", asked
        self._events.append(ev.ThinkingLevelChanged(level=name, note=note if name != wanted else None))
