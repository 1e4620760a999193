"""Anthropic's Messages, the protocol of Claude Code: `POST /v1/messages`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pi_subagents.offline.protocols.frames import (
    Frame,
    answer_id,
    arguments_text,
    call_id,
    error_kind,
    halves,
    named_event,
    split,
    tokens_in,
    usage_of,
)
from pi_subagents.offline.request import Arrival, Request, make_request, messages_in, read_body, text_of
from pi_subagents.offline.script import Call, CutStream, Fail, Hang, Turn, Usage

COUNT_PATH = "/v1/messages/count_tokens"

Block = Mapping[str, Any]


class Messages:
    """Reads and writes Anthropic's messages."""

    path = "/v1/messages"

    def read(self, arrival: Arrival) -> Request:
        """The request; raises RequestError if it is none."""
        body = read_body(arrival)
        system = {"role": "system", "content": body["system"]} if body.get("system") else None
        messages = [plain for message in messages_in(body) for plain in _plain_messages(message)]
        tools = [tool["name"] for tool in body.get("tools") or () if "name" in tool]
        return make_request(arrival, body, [system, *messages] if system else messages, tools)

    def turn(self, turn: Turn, request: Request) -> Iterator[Frame]:
        """The whole stream of a turn, one content block after the other."""
        usage = usage_of(turn, request)
        yield Frame(turn.delay_s, _start(request, usage))
        for index, (opening, deltas, pause_s) in enumerate(_blocks(turn, request)):
            yield Frame(0.0, _block_start(index, opening))
            for delta in deltas:
                yield Frame(pause_s, _block_delta(index, delta))
            yield Frame(0.0, named_event({"type": "content_block_stop", "index": index}))
        yield Frame(0.0, _end("tool_use" if turn.calls else "end_turn", usage))

    def beginning(self, answer: CutStream | Hang, request: Request) -> Iterator[Frame]:
        """The beginning of a stream that never ends as it should."""
        yield Frame(0.0, _start(request, usage_of(Turn(answer.text), request)))
        text = _block_start(0, {"type": "text", "text": ""})
        yield Frame(0.0, text + _block_delta(0, {"type": "text_delta", "text": answer.text}))
        if isinstance(answer, CutStream) and answer.call is not None:
            yield Frame(0.0, named_event({"type": "content_block_stop", "index": 0}))
            half, _ = _call_deltas(answer.call)
            yield Frame(0.0, _block_start(1, _call_opening(answer.call, 0, request)) + _block_delta(1, half))

    def error(self, fail: Fail) -> bytes:
        """The JSON for an error."""
        kind = "overloaded_error" if fail.status == 529 else error_kind(fail, "api_error")
        return json.dumps({"type": "error", "error": {"type": kind, "message": fail.message}}).encode()


def count_tokens(raw: bytes) -> bytes:
    """The answer to a client that asks how large its request would be."""
    return json.dumps({"input_tokens": tokens_in(len(raw))}).encode()


def _plain_messages(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A message in the form of a chat completion: each tool result in it becomes a message of its own."""
    content = message.get("content") or ""
    blocks: list[Block] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    spoken = [block for block in blocks if block.get("type") != "tool_result"]
    for block in blocks:
        if block.get("type") == "tool_result":
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id", ""), "content": text_of(block)}
    if spoken:
        calls = list(_calls(spoken))
        text = text_of({"content": spoken})
        yield {"role": message["role"], "content": text, **({"tool_calls": calls} if calls else {})}


def _calls(blocks: Iterable[Block]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if block.get("type") == "tool_use":
            arguments = json.dumps(block.get("input", {}))
            yield {"id": block["id"], "function": {"name": block["name"], "arguments": arguments}}


def _blocks(turn: Turn, request: Request) -> Iterator[tuple[Block, list[Block], float]]:
    """Each content block of a turn: how it opens, its pieces, and the pause before each piece."""
    if turn.thinking:
        pieces = [{"type": "thinking_delta", "thinking": piece} for piece in split(turn.thinking, turn.chunks)]
        opening = {"type": "thinking", "thinking": "", "signature": ""}
        yield opening, [*pieces, {"type": "signature_delta", "signature": "offline"}], turn.chunk_delay_s
    if turn.text:
        pieces = [{"type": "text_delta", "text": piece} for piece in split(turn.text, turn.chunks)]
        yield {"type": "text", "text": ""}, list(pieces), turn.chunk_delay_s
    for index, call in enumerate(turn.calls):
        yield _call_opening(call, index, request), _call_deltas(call), 0.0


def _call_opening(call: Call, index: int, request: Request) -> Block:
    return {"type": "tool_use", "id": call_id(request, index), "name": call.tool, "input": {}}


def _call_deltas(call: Call) -> list[Block]:
    return [{"type": "input_json_delta", "partial_json": half} for half in halves(arguments_text(call))]


def _start(request: Request, usage: Usage) -> bytes:
    message: dict[str, Any] = {
        "id": answer_id(request),
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.prompt_tokens - usage.cached_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached_tokens,
            "output_tokens": 0,
        },
    }
    return named_event({"type": "message_start", "message": message})


def _block_start(index: int, block: Block) -> bytes:
    return named_event({"type": "content_block_start", "index": index, "content_block": block})


def _block_delta(index: int, delta: Block) -> bytes:
    return named_event({"type": "content_block_delta", "index": index, "delta": delta})


def _end(stop_reason: str, usage: Usage) -> bytes:
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    figures = {"output_tokens": usage.completion_tokens}
    return named_event({"type": "message_delta", "delta": delta, "usage": figures}) + named_event(
        {"type": "message_stop"}
    )
