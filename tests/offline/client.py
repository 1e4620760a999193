"""A chat-completion client of a few lines, so that these tests see the server as an agent does."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pi_subagents.offline import OfflineModel, Request
from pi_subagents.offline.protocol import ChatCompletions
from pi_subagents.offline.request import Arrival
from tests.kit.waiting import PATIENCE_S

CHAT = "/v1/chat/completions"
WAIT_S = PATIENCE_S

Messages = Sequence[Mapping[str, Any]]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def assistant(text: str, calls: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    return {**message, "tool_calls": list(calls)} if calls else message


def tool_result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def payload(messages: Messages, **fields: Any) -> bytes:
    return json.dumps({"model": "scripted", "stream": True, "messages": list(messages), **fields}).encode()


def request_of(*messages: Mapping[str, Any], session: str = "", **fields: Any) -> Request:
    """A parsed request, for what needs no server."""
    return ChatCompletions().read(Arrival(payload(messages, **fields), {"X-Session-Affinity": session}, 0.0))


@dataclass(frozen=True)
class Reply:
    """A response read to its end, and its stream put together again."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def events(self) -> list[dict[str, Any]]:
        lines = [line[6:] for line in self.body.split(b"\n\n") if line.startswith(b"data: ")]
        return [json.loads(line) for line in lines if line != b"[DONE]"]

    @property
    def deltas(self) -> list[dict[str, Any]]:
        return [event["choices"][0]["delta"] for event in self.events if event["choices"]]

    @property
    def text(self) -> str:
        return "".join(delta.get("content") or "" for delta in self.deltas)

    @property
    def finish_reason(self) -> Any:
        return next(event["choices"][0]["finish_reason"] for event in reversed(self.events) if event["choices"])

    @property
    def usage(self) -> dict[str, Any]:
        usage: dict[str, Any] = self.events[-1]["usage"]
        return usage

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The tool calls as an agent would send them back in its next request."""
        calls: dict[int, dict[str, Any]] = {}
        for piece in (piece for delta in self.deltas for piece in delta.get("tool_calls", ())):
            call = calls.setdefault(piece["index"], {"function": {"name": "", "arguments": ""}})
            call["id"] = piece.get("id", call.get("id"))
            call["function"]["name"] += piece["function"].get("name", "")
            call["function"]["arguments"] += piece["function"]["arguments"]
        return list(calls.values())


@contextmanager
def connect(model: OfflineModel) -> Iterator[http.client.HTTPConnection]:
    address = urlsplit(model.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=WAIT_S)
    try:
        yield connection
    finally:
        connection.close()


def send(connection: http.client.HTTPConnection, body: bytes, headers: Mapping[str, str] | None = None) -> None:
    connection.request("POST", CHAT, body, {"Authorization": "Bearer key", **(headers or {})})


def receive(connection: http.client.HTTPConnection) -> Reply:
    response = connection.getresponse()
    return Reply(response.status, dict(response.getheaders()), response.read())


def ask(model: OfflineModel, *messages: Mapping[str, Any], session: str = "", **fields: Any) -> Reply:
    """One request on a connection of its own."""
    with connect(model) as connection:
        send(connection, payload(messages, **fields), {"X-Session-Affinity": session} if session else None)
        return receive(connection)
