"""What the protocols have in common: frames with pauses, pieces of text, guessed usage, ids of calls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pi_subagents.offline.request import Request
from pi_subagents.offline.script import Call, Fail, Turn, Usage

# Well below the context window written into models.json: pi would answer a larger figure with a compaction,
# which is one more request that no script expects. A script that wants that gives its own usage.
MAX_GUESSED_PROMPT_TOKENS = 50_000
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Frame:
    """Bytes to send, after a pause."""

    pause_s: float
    data: bytes


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
    """Cut a text into nearly equal pieces, none of them empty: fewer if it is short, none if it is empty."""
    count = max(1, min(pieces, len(text)))
    edges = [len(text) * index // count for index in range(count + 1)]
    return [text[start:end] for start, end in pairwise(edges) if end > start]


def arguments_text(call: Call) -> str:
    """A call's arguments as the JSON text that providers send."""
    return json.dumps(dict(call.arguments))


def halves(text: str) -> tuple[str, str]:
    """A text in two pieces, the way providers stream a call's arguments."""
    return text[: len(text) // 2], text[len(text) // 2 :]


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
