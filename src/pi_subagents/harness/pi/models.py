"""What `pi` says about models: those it offers, in a table for people, and the one that it takes if it is told none."""

from __future__ import annotations

import re
from contextlib import suppress

import msgspec

from pi_subagents.encoding import JsonError, decode_json

_HEADER = re.compile(r"^provider +model .*\n", re.MULTILINE)

LIST_MODELS = "--list-models"
ANSWER_REQUESTS = ("--mode", "rpc", "--no-session")
GET_STATE = b'{"type":"get_state"}\n'
_UNKNOWN = "unknown"
"""What it says for a model and its provider where it has none."""


class _Model(msgspec.Struct):
    provider: str
    id: str


class _State(msgspec.Struct):
    model: _Model


class _Response(msgspec.Struct):
    data: _State


def parse_models(table: str) -> tuple[str, ...]:
    """The models as `provider/id`, in the order of the table; none if there is no table."""
    header = _HEADER.search(table)
    rows = table[header.end() :].splitlines() if header else []
    pairs = [row.split()[:2] for row in rows]
    return tuple(dict.fromkeys("/".join(pair) for pair in pairs if len(pair) == 2))


def default_in(answers: str) -> str | None:
    """The model in the answer to `GET_STATE` as `provider/id`; None if there is no such answer, or no model in it."""
    for line in answers.splitlines():
        with suppress(JsonError):
            model = decode_json(line, _Response).data.model
            return f"{model.provider}/{model.id}" if _UNKNOWN not in (model.provider, model.id) else None
    return None
