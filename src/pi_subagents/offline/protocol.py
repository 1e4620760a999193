"""How providers' clients ask and what they understand: what all protocols share, and the first of them.

A script knows nothing of it. A protocol reads requests and writes answers, without I/O.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from pi_subagents.offline.request import Arrival, Request, make_request, messages_in, read_body
from pi_subagents.offline.script import Call, CutStream, Fail, Hang, Turn, Usage

# Well below the context window written into models.json: pi would answer a larger figure with a compaction,
# which is one more request that no script expects. A script that wants that gives its own usage.
MAX_GUESSED_PROMPT_TOKENS = 50_000
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Frame:
    """Bytes to send, after a pause."""

    pause_s: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """A part of an answer (thinking, text or a call) in pieces, with a pause before each."""

    opening: bytes
    pieces: Sequence[bytes]
    closing: bytes = b""
    pause_s: float = 0.0


class WireProtocol(ABC):
    """How the clients of a provider speak; they post to `path`."""

    path: ClassVar[str]

    def takes(self, path: str) -> bool:
        """Whether what is posted there is for this protocol."""
        return path == self.path

    @abstractmethod
    def read(self, arrival: Arrival) -> Request:
        """The request; raises RequestError if it is none."""

    @abstractmethod
    def error(self, fail: Fail) -> bytes:
        """The JSON for an error."""

    @abstractmethod
    def start(self, request: Request, usage: Usage) -> bytes:
        """What comes before the first block."""

    @abstractmethod
    def blocks(self, turn: Turn, request: Request) -> Iterator[Block]:
        """Thinking, text and calls, as far as the turn has them."""

    @abstractmethod
    def end(self, turn: Turn, request: Request, usage: Usage) -> bytes:
        """What comes after the last block."""

    @abstractmethod
    def whole(self, turn: Turn, request: Request, usage: Usage) -> Mapping[str, Any]:
        """The same turn for a client that wants one document."""

    def document(self, turn: Turn, request: Request) -> bytes:
        """That document's bytes."""
        return json.dumps(self.whole(turn, request, usage_of(turn, request))).encode()

    def turn(self, turn: Turn, request: Request) -> Iterator[Frame]:
        """The whole stream of a turn, one block after the other."""
        usage = usage_of(turn, request)
        yield Frame(turn.delay_s, self.start(request, usage))
        for block in self.blocks(turn, request):
            first, *more = block.pieces
            yield Frame(block.pause_s, block.opening + first)
            yield from (Frame(block.pause_s, piece) for piece in more)
            if block.closing:
                yield Frame(0.0, block.closing)
        yield Frame(0.0, self.end(turn, request, usage))

    def beginning(self, answer: CutStream | Hang, request: Request) -> bytes:
        """The beginning of a stream that never ends as it should: its last block stays open."""
        calls = (answer.call,) if isinstance(answer, CutStream) and answer.call is not None else ()
        turn = Turn(answer.text, calls)
        data = self.start(request, usage_of(turn, request))
        blocks = list(self.blocks(turn, request))
        for block in blocks:
            data += block.opening + block.pieces[0]
            if block is not blocks[-1]:
                data += b"".join(block.pieces[1:]) + block.closing
        return data


class ChatCompletions(WireProtocol):
    """The protocol of most providers and of pi here: `POST /v1/chat/completions`."""

    path = "/v1/chat/completions"

    def read(self, arrival: Arrival) -> Request:
        """The request; raises RequestError if it is none."""
        body = read_body(arrival)
        tools = [tool["function"]["name"] for tool in body.get("tools") or () if "function" in tool]
        return make_request(arrival, body, messages_in(body), tools)

    def error(self, fail: Fail) -> bytes:
        """The JSON for an error."""
        kind = error_kind(fail, "server_error")
        return json.dumps({"error": {"message": fail.message, "type": kind, "code": fail.status}}).encode()

    def start(self, request: Request, usage: Usage) -> bytes:
        """The role."""
        return _chunk(request, {"role": "assistant", "content": ""})

    def blocks(self, turn: Turn, request: Request) -> Iterator[Block]:
        """Deltas; those of a call have its name first, then the arguments in two halves."""
        for key, text in (("reasoning_content", turn.thinking), ("content", turn.text)):
            if text:
                pieces = [_chunk(request, {key: piece}) for piece in split(text, turn.chunks)]
                yield Block(b"", pieces, pause_s=turn.chunk_delay_s)
        for index, call in enumerate(turn.calls):
            name = _call(request, index, _function(request, index, call, ""))
            halves = [{"function": {"arguments": half}} for half in argument_halves(call)]
            yield Block(name, [_call(request, index, half) for half in halves])

    def end(self, turn: Turn, request: Request, usage: Usage) -> bytes:
        """The reason to stop, the token figures in a chunk without a choice, and the end marker."""
        reason = _chunk(request, {}, _finish_reason(turn))
        return reason + _encode(request, {"choices": [], "usage": _figures(usage)}) + b"data: [DONE]\n\n"

    def whole(self, turn: Turn, request: Request, usage: Usage) -> Mapping[str, Any]:
        """A completion with one choice."""
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        if turn.thinking:
            message["reasoning_content"] = turn.thinking
        if turn.calls:
            calls = enumerate(turn.calls)
            message["tool_calls"] = [_function(request, index, call, arguments_text(call)) for index, call in calls]
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(turn)}
        return {**_envelope(request, "chat.completion"), "choices": [choice], "usage": _figures(usage)}


def _finish_reason(turn: Turn) -> str:
    return "tool_calls" if turn.calls else "stop"


def _figures(usage: Usage) -> Mapping[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def _function(request: Request, index: int, call: Call, arguments: str) -> Mapping[str, Any]:
    function = {"name": call.tool, "arguments": arguments}
    return {"id": call_id(request, index), "type": "function", "function": function}


def _envelope(request: Request, kind: str) -> Mapping[str, Any]:
    return {"id": answer_id(request), "object": kind, "created": 0, "model": request.model}


def _chunk(request: Request, delta: Mapping[str, Any], finish_reason: str | None = None) -> bytes:
    return _encode(request, {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


def _call(request: Request, index: int, fields: Mapping[str, Any]) -> bytes:
    return _chunk(request, {"tool_calls": [{"index": index, **fields}]})


def _encode(request: Request, fields: Mapping[str, Any]) -> bytes:
    chunk = {**_envelope(request, "chat.completion.chunk"), **fields}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def named_event(fields: Mapping[str, Any]) -> bytes:
    """A server-sent event that carries its type as its name, too."""
    return f"event: {fields['type']}\ndata: {json.dumps(fields)}\n\n".encode()


def usage_of(turn: Turn, request: Request) -> Usage:
    """The script's figures, or else figures from lengths."""
    if turn.usage is not None:
        return turn.usage
    arguments = "".join(map(arguments_text, turn.calls))
    prompt_tokens = min(tokens_in(request.body_bytes), MAX_GUESSED_PROMPT_TOKENS)
    return Usage(prompt_tokens, tokens_in(len(turn.thinking) + len(turn.text) + len(arguments)))


def tokens_in(characters: int) -> int:
    """About four characters to a token, and at least one."""
    return max(1, characters // _CHARACTERS_PER_TOKEN)


def split(text: str, pieces: int) -> list[str]:
    """Cut a text into nearly equal pieces, none of them empty: fewer if it is short."""
    count = max(1, min(pieces, len(text)))
    edges = [len(text) * index // count for index in range(count + 1)]
    return [text[start:end] for start, end in pairwise(edges)]


def arguments_text(call: Call) -> str:
    """A call's arguments as the JSON text that providers send."""
    return json.dumps(dict(call.arguments))


def argument_halves(call: Call) -> list[str]:
    """The same in two pieces, the way providers stream it."""
    return split(arguments_text(call), 2)


def call_id(request: Request, index: int) -> str:
    """An id that no other call of the conversation has."""
    return f"call_{request.step}_{index}"


def answer_id(request: Request) -> str:
    """An id that no other answer of the conversation has."""
    return f"offline-{request.conversation[:12]}-{request.step}"


def error_kind(fail: Fail, server_error: str) -> str:
    """The provider's word for a failure."""
    client_kind = "rate_limit_error" if fail.status == 429 else "invalid_request_error"
    return server_error if fail.status >= 500 else client_kind
