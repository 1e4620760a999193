"""Reads an agent's answers: the options of a session, how a prompt ended, error messages, and usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.harness.frames import figure_in, items_in, object_in, text_in
from pi_subagents.models import event as ev
from pi_subagents.models.task import ThinkingLevel

_NOT_LOGGED_IN = -32000
_ENDS: Mapping[str, tuple[str, str | None]] = {
    "end_turn": ("stop", None),
    "cancelled": ("aborted", None),
    "max_turn_requests": (ev.LIMIT, "The agent reached its turn limit"),
    "max_tokens": ("error", "The answer was cut off at the model's output limit; what arrived is kept"),
    "refusal": ("error", "The model refused to continue"),
}
_FIGURES = (
    ("inputTokens", "input_tokens"),
    ("outputTokens", "output_tokens"),
    ("cachedReadTokens",),
    ("cachedWriteTokens",),
    ("totalTokens", "input_tokens", "output_tokens"),
)
"""Their names for the figures of usage, in the order of ours."""


def ending_in(answer: Mapping[str, Any], log_in: str) -> tuple[str, str | None]:
    """The stop reason for the last message, and an error message unless all went well."""
    if "error" in answer:
        return "error", sentence_in(answer["error"], log_in)
    stop = str(object_in(answer.get("result")).get("stopReason"))
    return _ENDS.get(stop, ("error", f"The agent stopped for an unknown reason: {stop}"))


def sentence_in(error: Any, log_in: str) -> str:
    """The error message, if possible the provider's own, which some agents wrap in JSON."""
    error = object_in(error)
    sentence = text_in(error.get("message")) or "The agent failed"
    data = object_in(error.get("data"))
    if details := text_in(data.get("details")) or text_in(data.get("message")):
        sentence = details if sentence == "Internal error" else f"{sentence}: {details}"
    with suppress(JsonError):
        wrapped = object_in(decode_json(sentence.encode("utf-8", "replace"), dict[str, Any]).get("error"))
        sentence = text_in(wrapped.get("message")) or sentence
    sentence = sentence.removeprefix("Internal error: ")
    return f"{sentence} (to log in: {log_in})" if error.get("code") == _NOT_LOGGED_IN else sentence


def tokens_in(result: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> list[float]:
    """The tokens of all steps together; some agents report them at the end, others after each step."""
    quota = object_in(object_in(object_in(result.get("_meta")).get("quota")).get("token_count"))
    told = object_in(result.get("usage"))
    counted = [told] if told else steps or [quota]
    tokens = [sum(figure_in(step.get(name)) or 0 for step in counted for name in names) for names in _FIGURES]
    read, said, cached, written, total = tokens
    if total == read + said:  # then what came from a cache is a part of what was read
        tokens[0] = max(0, read - cached - written)
    return tokens


def option_in(session: dict[str, Any], category: str) -> dict[str, Any] | None:
    """The session's option of a category, such as the model."""
    options = items_in(session.get("configOptions"))
    return next((option for option in options if category in (option.get("category"), option.get("id"))), None)


class Level(msgspec.Struct, frozen=True):
    """A thinking level that an agent offers: our name for it, and its own."""

    name: str
    own: str


_OFF = "none"
"""What some agents call the level that we call `off`."""


def level_for(wanted: str, option: dict[str, Any]) -> Level | None:
    """The offered level that is wanted, or the nearest, of two the lower; None if none of them is one of ours."""
    items = items_in(option.get("options"))
    values = [text_in(one.get("value")) for item in items for one in (item, *items_in(item.get("options")))]
    order = list(map(str, ThinkingLevel))
    offered = [Level(str(ThinkingLevel.OFF) if value == _OFF else value, value) for value in values if value]
    known = sorted((level for level in offered if level.name in order), key=lambda level: order.index(level.name))
    return min(known, key=lambda level: abs(order.index(level.name) - order.index(wanted)), default=None)
