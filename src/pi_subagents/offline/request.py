"""What an agent asked of the offline model, the same whichever provider's protocol it spoke.

Everything a script or a test wants to know about a request is a field here, so that neither has to walk
the provider's JSON. A conversation's position is derived from the request itself, never from memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Where pi (when its model entry says so, see `agent_dir`), Claude Code and Codex put the id of their session.
CONVERSATION_HEADERS = ("x-session-affinity", "x-claude-code-session-id", "session-id")
_KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")

Message = Mapping[str, Any]


class RequestError(ValueError):
    """The body is not a request of its protocol; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request as it came: `at_s` is on the monotonic clock, `path` the address without the query."""

    raw: bytes
    headers: Mapping[str, str]
    at_s: float
    path: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One tool's answer, with the name and the arguments of the call that it answers."""

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """One recorded request; `body` is the whole JSON for whatever the named fields do not show.

    `messages` have the form of a chat completion in every protocol: calls in an assistant's `tool_calls`, each
    result in a message of the role `tool`.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    authorization: str
    headers: Mapping[str, str]
    system_text: str
    first_user_text: str
    last_user_text: str
    tool_results: tuple[ToolResult, ...]
    arrived_at_s: float
    """Seconds on the monotonic clock: for comparing requests with each other."""
    body_bytes: int
    body: Mapping[str, Any]
    streams: bool = True
    """Whether the answer is to be streamed, rather than sent as one document."""
    is_side: bool = False
    """Whether it is a side request, not part of the conversation, and so not for the script; see `side`."""

    @property
    def step(self) -> int:
        """How many answers the conversation already holds, which is the index of the next step."""
        return sum(message["role"] == "assistant" for message in self.messages)

    @property
    def conversation(self) -> str:
        """The key under which failed attempts are counted: first user message plus the client's session."""
        sessions = (self.headers[name] for name in CONVERSATION_HEADERS if name in self.headers)
        parts = (next(sessions, ""), self.first_user_text)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def read_body(arrival: Arrival) -> dict[str, Any]:
    """The JSON object of a request; raises RequestError if there is none."""
    try:
        body = json.loads(arrival.raw)
    except ValueError as error:
        raise RequestError(f"the request body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise RequestError("the request body is not a JSON object with `messages`, `input` or `contents`")
    return body


def messages_in(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The list `messages` of a body; raises RequestError if it is not one."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(m, dict) and "role" in m for m in messages):
        raise RequestError("the request body has no list `messages` of objects with a `role`")
    return messages


def joined(messages: Iterable[Message]) -> list[Message]:
    """The same with consecutive messages of one side joined; each tool result stays a message of its own."""
    apart: list[Message] = []
    for message in messages:
        if apart and apart[-1]["role"] == message["role"] != "tool":
            apart[-1] = _joined(apart[-1], message)
        else:
            apart.append(message)
    return apart


def _joined(first: Message, second: Message) -> Message:
    calls = [*first.get("tool_calls", ()), *second.get("tool_calls", ())]
    text = "\n".join(filter(None, (first["content"], second["content"])))
    return {"role": first["role"], "content": text, **({"tool_calls": calls} if calls else {})}


def make_request(
    arrival: Arrival,
    body: Mapping[str, Any],
    messages: Sequence[Message],
    tools: Iterable[str],
    *,
    model: str | None = None,
    streams: bool | None = None,
) -> Request:
    """A request from what its protocol has read: messages in the form of a chat completion, names of tools.

    Where `model` and `streams` are not given, the body has them.
    """
    users = [text_of(message) for message in messages if message["role"] == "user"]
    headers = {name.lower(): value for name, value in arrival.headers.items()}
    return Request(
        model=str(body.get("model", "")) if model is None else model,
        messages=tuple(messages),
        tools=tuple(tools),
        authorization=next((headers[name] for name in _KEY_HEADERS if headers.get(name)), ""),
        headers=headers,
        system_text="\n".join(text_of(m) for m in messages if m["role"] in ("system", "developer")),
        first_user_text=users[0] if users else "",
        last_user_text=users[-1] if users else "",
        tool_results=tuple(_tool_results(messages)),
        arrived_at_s=arrival.at_s,
        body_bytes=len(arrival.raw),
        body=body,
        streams=bool(body.get("stream")) if streams is None else streams,
    )


def text_of(message: Message) -> str:
    """The text of a message whose content is a string or a list of parts; images count as nothing."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _tool_results(messages: Sequence[Message]) -> Iterator[ToolResult]:
    calls: dict[str, Mapping[str, Any]] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            calls[call["id"]] = call["function"]
        if message["role"] == "tool":
            call_id = str(message.get("tool_call_id", ""))
            function = calls.get(call_id, {})
            yield ToolResult(call_id, function.get("name", ""), _arguments(function), text_of(message))


def _arguments(function: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        arguments = json.loads(function.get("arguments", "{}"))
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}
