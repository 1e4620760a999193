"""Anthropic's Messages, the protocol of Claude Code: `POST /v1/messages`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pi_subagents.offline.protocol import (
    Block,
    WireProtocol,
    answer_id,
    argument_halves,
    call_id,
    error_kind,
    named_event,
    split,
    tokens_in,
)
from pi_subagents.offline.request import Arrival, Request, make_request, messages_in, read_body, text_of
from pi_subagents.offline.script import Call, Fail, Turn, Usage

COUNT_PATH = "/v1/messages/count_tokens"

_SIGNATURE = "offline"

Fields = Mapping[str, Any]


class Messages(WireProtocol):
    """Reads and writes Anthropic's messages."""

    path = "/v1/messages"

    def read(self, arrival: Arrival) -> Request:
        """The request; raises RequestError if it is none."""
        body = read_body(arrival)
        system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
        messages = [plain for message in messages_in(body) for plain in _plain_messages(message)]
        tools = [tool["name"] for tool in body.get("tools") or () if "name" in tool]
        return make_request(arrival, body, [*system, *messages], tools)

    def error(self, fail: Fail) -> bytes:
        """The JSON for an error."""
        kind = "overloaded_error" if fail.status == 529 else error_kind(fail, "api_error")
        return json.dumps({"type": "error", "error": {"type": kind, "message": fail.message}}).encode()

    def start(self, request: Request, usage: Usage) -> bytes:
        """The message without its content."""
        message = _message(request, usage, 0, content=[], stop_reason=None)
        return named_event({"type": "message_start", "message": message})

    def blocks(self, turn: Turn, request: Request) -> Iterator[Block]:
        """Content blocks, numbered in a row."""
        for index, (opening, deltas, pause_s) in enumerate(_contents(turn, request)):
            yield Block(
                named_event({"type": "content_block_start", "index": index, "content_block": opening}),
                [named_event({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas],
                named_event({"type": "content_block_stop", "index": index}),
                pause_s,
            )

    def end(self, turn: Turn, request: Request, usage: Usage) -> bytes:
        """The reason to stop and the tokens of the answer."""
        delta = {"stop_reason": _stop_reason(turn), "stop_sequence": None}
        figures = {"output_tokens": usage.completion_tokens}
        last = named_event({"type": "message_delta", "delta": delta, "usage": figures})
        return last + named_event({"type": "message_stop"})

    def whole(self, turn: Turn, request: Request, usage: Usage) -> Fields:
        """The message with its content."""
        content: list[Fields] = []
        if turn.thinking:
            content.append({"type": "thinking", "thinking": turn.thinking, "signature": _SIGNATURE})
        if turn.text:
            content.append({"type": "text", "text": turn.text})
        content += [
            {**_use(call, index, request), "input": dict(call.arguments)} for index, call in enumerate(turn.calls)
        ]
        return _message(request, usage, usage.completion_tokens, content=content, stop_reason=_stop_reason(turn))


def _message(request: Request, usage: Usage, output_tokens: int, **fields: Any) -> Fields:
    figures = {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": output_tokens,
    }
    who = {"id": answer_id(request), "type": "message", "role": "assistant", "model": request.model}
    return {**who, "stop_sequence": None, "usage": figures, **fields}


def _stop_reason(turn: Turn) -> str:
    return "tool_use" if turn.calls else "end_turn"


def _use(call: Call, index: int, request: Request) -> Fields:
    return {"type": "tool_use", "id": call_id(request, index), "name": call.tool, "input": {}}


def count_tokens(raw: bytes) -> bytes:
    """The answer to a client that asks how large its request would be; no script sees it."""
    return json.dumps({"input_tokens": tokens_in(len(raw))}).encode()


def _plain_messages(message: Fields) -> Iterator[dict[str, Any]]:
    """A message in the form of a chat completion: each tool result in it becomes a message of its own."""
    content = message.get("content") or ""
    blocks: list[Fields] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        if block.get("type") == "tool_result":
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id", ""), "content": text_of(block)}
    if spoken := [block for block in blocks if block.get("type") != "tool_result"]:
        calls = [_plain_call(block) for block in spoken if block.get("type") == "tool_use"]
        text = text_of({"content": spoken})
        yield {"role": message["role"], "content": text, **({"tool_calls": calls} if calls else {})}


def _plain_call(block: Fields) -> dict[str, Any]:
    return {"id": block["id"], "function": {"name": block["name"], "arguments": json.dumps(block.get("input", {}))}}


def _contents(turn: Turn, request: Request) -> Iterator[tuple[Fields, list[Fields], float]]:
    """Each content block of a turn: how it opens, its deltas, and the pause before each of them."""
    if turn.thinking:
        pieces = [{"type": "thinking_delta", "thinking": piece} for piece in split(turn.thinking, turn.chunks)]
        opening = {"type": "thinking", "thinking": "", "signature": ""}
        yield opening, [*pieces, {"type": "signature_delta", "signature": _SIGNATURE}], turn.chunk_delay_s
    if turn.text:
        pieces = [{"type": "text_delta", "text": piece} for piece in split(turn.text, turn.chunks)]
        yield {"type": "text", "text": ""}, [*pieces], turn.chunk_delay_s
    for index, call in enumerate(turn.calls):
        halves: list[Fields] = [{"type": "input_json_delta", "partial_json": half} for half in argument_halves(call)]
        yield _use(call, index, request), halves, 0.0
