"""Answers as the wire has them: the server-sent events of a streamed chat completion, and error bodies.

Pure: an answer becomes frames, each with the pause that precedes it; the server does the waiting and writing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pi_subagents.offline.request import Request
from pi_subagents.offline.script import Call, CutStream, Fail, Hang, Turn, Usage

DONE = b"data: [DONE]\n\n"

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
class Completion:
    """The envelope that every event of one answer carries."""

    request: Request

    def event(self, delta: Mapping[str, Any], finish_reason: str | None = None) -> bytes:
        """One event with one choice."""
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return self._encode({"choices": [choice]})

    def usage_event(self, usage: Usage) -> bytes:
        """The event without a choice that closes the stream with the token figures."""
        figures = {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        }
        return self._encode({"choices": [], "usage": figures})

    def _encode(self, fields: Mapping[str, Any]) -> bytes:
        envelope = {
            "id": f"offline-{self.request.conversation[:12]}-{self.request.step}",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": self.request.model,
            **fields,
        }
        return b"data: " + json.dumps(envelope).encode() + b"\n\n"


def turn_frames(turn: Turn, request: Request) -> Iterator[Frame]:
    """The whole stream of a turn, from the role to the end marker."""
    completion = Completion(request)
    yield Frame(turn.delay_s, completion.event({"role": "assistant", "content": ""}))
    for piece in split(turn.thinking, turn.chunks):
        yield Frame(turn.chunk_delay_s, completion.event({"reasoning_content": piece}))
    for piece in split(turn.text, turn.chunks):
        yield Frame(turn.chunk_delay_s, completion.event({"content": piece}))
    for index, call in enumerate(turn.calls):
        for delta in _call_deltas(call, index, request):
            yield Frame(0.0, completion.event(delta))
    yield Frame(0.0, completion.event({}, "tool_calls" if turn.calls else "stop"))
    yield Frame(0.0, completion.usage_event(turn.usage or guess_usage(turn, request)) + DONE)


def partial_frames(answer: CutStream | Hang, request: Request) -> Iterator[Frame]:
    """The beginning of a stream that never ends as it should."""
    completion = Completion(request)
    yield Frame(0.0, completion.event({"role": "assistant", "content": answer.text}))
    if isinstance(answer, CutStream) and answer.call is not None:
        opening, first_half, _ = _call_deltas(answer.call, 0, request)
        yield Frame(0.0, completion.event(opening) + completion.event(first_half))


def error_body(fail: Fail) -> bytes:
    """The provider's JSON for an error."""
    client_kind = "rate_limit_error" if fail.status == 429 else "invalid_request_error"
    kind = "server_error" if fail.status >= 500 else client_kind
    return json.dumps({"error": {"message": fail.message, "type": kind, "code": fail.status}}).encode()


def guess_usage(turn: Turn, request: Request) -> Usage:
    """Figures from lengths, about four characters to a token."""
    arguments = "".join(json.dumps(dict(call.arguments)) for call in turn.calls)
    prompt_tokens = min(_tokens(request.body_bytes), MAX_GUESSED_PROMPT_TOKENS)
    return Usage(prompt_tokens, _tokens(len(turn.thinking) + len(turn.text) + len(arguments)))


def split(text: str, pieces: int) -> list[str]:
    """Cut a text into nearly equal pieces, none of them empty: fewer if it is short, none if it is empty."""
    count = max(1, min(pieces, len(text)))
    edges = [len(text) * index // count for index in range(count + 1)]
    return [text[start:end] for start, end in pairwise(edges) if end > start]


def _tokens(characters: int) -> int:
    return max(1, characters // _CHARACTERS_PER_TOKEN)


def _call_deltas(call: Call, index: int, request: Request) -> list[dict[str, Any]]:
    """Name first, then the arguments in two halves, the way providers stream them."""
    arguments = json.dumps(dict(call.arguments))
    middle = len(arguments) // 2
    opening = {"id": f"call_{request.step}_{index}", "type": "function"}
    return [
        {"tool_calls": [{"index": index, **opening, "function": {"name": call.tool, "arguments": ""}}]},
        {"tool_calls": [{"index": index, "function": {"arguments": arguments[:middle]}}]},
        {"tool_calls": [{"index": index, "function": {"arguments": arguments[middle:]}}]},
    ]
