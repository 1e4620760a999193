"""Chat completions, the protocol of most providers and of pi here: `POST /v1/chat/completions`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pi_subagents.offline.protocols.frames import (
    Frame,
    answer_id,
    arguments_text,
    call_id,
    error_kind,
    halves,
    split,
    usage_of,
)
from pi_subagents.offline.request import Arrival, Request, make_request, messages_in, read_body
from pi_subagents.offline.script import Call, CutStream, Fail, Hang, Turn, Usage

DONE = b"data: [DONE]\n\n"


class ChatCompletions:
    """Reads and writes chat completions."""

    path = "/v1/chat/completions"

    def read(self, arrival: Arrival) -> Request:
        """The request; raises RequestError if it is none."""
        body = read_body(arrival)
        tools = [tool["function"]["name"] for tool in body.get("tools") or () if "function" in tool]
        return make_request(arrival, body, messages_in(body), tools)

    def turn(self, turn: Turn, request: Request) -> Iterator[Frame]:
        """The whole stream of a turn, from the role to the end marker."""
        yield Frame(turn.delay_s, _event(request, {"role": "assistant", "content": ""}))
        for piece in split(turn.thinking, turn.chunks):
            yield Frame(turn.chunk_delay_s, _event(request, {"reasoning_content": piece}))
        for piece in split(turn.text, turn.chunks):
            yield Frame(turn.chunk_delay_s, _event(request, {"content": piece}))
        for index, call in enumerate(turn.calls):
            for delta in _call_deltas(call, index, request):
                yield Frame(0.0, _event(request, delta))
        yield Frame(0.0, _event(request, {}, "tool_calls" if turn.calls else "stop"))
        yield Frame(0.0, _usage_event(request, usage_of(turn, request)) + DONE)

    def beginning(self, answer: CutStream | Hang, request: Request) -> Iterator[Frame]:
        """The beginning of a stream that never ends as it should."""
        yield Frame(0.0, _event(request, {"role": "assistant", "content": answer.text}))
        if isinstance(answer, CutStream) and answer.call is not None:
            opening, first_half, _ = _call_deltas(answer.call, 0, request)
            yield Frame(0.0, _event(request, opening) + _event(request, first_half))

    def error(self, fail: Fail) -> bytes:
        """The JSON for an error."""
        kind = error_kind(fail, "server_error")
        return json.dumps({"error": {"message": fail.message, "type": kind, "code": fail.status}}).encode()


def _event(request: Request, delta: Mapping[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return _encode(request, {"choices": [choice]})


def _usage_event(request: Request, usage: Usage) -> bytes:
    """The event without a choice that closes the stream with the token figures."""
    figures = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
    return _encode(request, {"choices": [], "usage": figures})


def _encode(request: Request, fields: Mapping[str, Any]) -> bytes:
    envelope = {
        "id": answer_id(request),
        "object": "chat.completion.chunk",
        "created": 0,
        "model": request.model,
        **fields,
    }
    return b"data: " + json.dumps(envelope).encode() + b"\n\n"


def _call_deltas(call: Call, index: int, request: Request) -> list[dict[str, Any]]:
    """Name first, then the arguments in two halves."""
    opening = {"id": call_id(request, index), "type": "function"}
    return [
        {"tool_calls": [{"index": index, **opening, "function": {"name": call.tool, "arguments": ""}}]},
        *({"tool_calls": [{"index": index, "function": {"arguments": half}}]} for half in halves(arguments_text(call))),
    ]
