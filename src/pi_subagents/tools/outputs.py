"""Structured content of results, and its JSON Schema: all that the models of many MCP clients ever see of a call.

So it holds the answer, bounded, and none of what only a program or a display needs: that is in the details.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.settings import Settings
from pi_subagents.text import clean

Schema = Mapping[str, Any]
Content = dict[str, Any]

ANSWER_CHARACTERS = 2000
_EXCERPT_CHARACTERS = 200
"""Of a run among others, and of a task that the model has written itself."""

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NOTHING: Schema = {"type": ["string", "null"]}


def record(properties: Mapping[str, Schema], *, sometimes: Mapping[str, Schema] | None = None) -> dict[str, Any]:
    """An object that has all of these; it may have more, such as what it has `sometimes`."""
    return {"type": "object", "properties": {**properties, **(sometimes or {})}, "required": list(properties)}


def listed(items: Schema) -> dict[str, Any]:
    """A list of such things."""
    return {"type": "array", "items": dict(items)}


# --- tools that wait -----------------------------------------------------------------------------------------


def tasks_content(states: Sequence[RunState], word: Callable[[Status], str], warnings: Sequence[str]) -> Content:
    """How each task ended and what it answered; `word` says a status in the vocabulary of the tool."""
    content: Content = {"tasks": [_task(state, word(state.status)) for state in states]}
    return content | ({"warnings": list(warnings)} if warnings else {})


def _task(state: RunState, status: str) -> Content:
    return {
        "name": clean(state.name),
        "status": status,
        "sessionId": state.session_id,
        "answer": cut_answer(state.text.strip(), state.session_id) or None,
        "error": clean(state.error, keep_newlines=True) if state.error else None,
    }


def warnings_of(states: Sequence[RunState], settings: Settings) -> list[str]:
    """What people should know of the settings and of these runs."""
    return [*settings.warnings, *dict.fromkeys(state.note for state in states if state.note)]


def cut_answer(text: str, session_id: str, limit: int = ANSWER_CHARACTERS) -> str:
    """The beginning of a text, and where the rest of it is."""
    if len(text) <= limit:
        return text
    rest = f"{len(text) - limit:,} more characters"
    return f'{text[:limit]}… [cut, {rest}: call get_subagent_output with sessionId "{session_id}"]'


_TASK = record(
    {
        "name": _TEXT,
        "status": _TEXT,  # another version may know more of them, and clients refuse what does not fit
        "sessionId": _TEXT,
        "answer": _TEXT_OR_NOTHING,
        "error": _TEXT_OR_NOTHING,
    }
)
TASKS = record({"tasks": listed(_TASK)}, sometimes={"warnings": listed(_TEXT)})


# --- background runs -----------------------------------------------------------------------------------------


def run_content(row: Mapping[str, Any], *, alone: bool = True) -> Content:
    """A row without what nobody asks a model; a run among others says only how its answer begins."""
    content = {name: value for name, value in row.items() if name not in ("usage", "exitCode")}
    content["task"] = _excerpt(row["task"])
    content["paths"] = {"runDir": row["paths"]["runDir"]}
    if text := row.get("finalText"):
        limit = ANSWER_CHARACTERS if alone else _EXCERPT_CHARACTERS
        content["finalText"] = cut_answer(text.strip(), row["sessionId"], limit)
    return content


def _excerpt(text: str) -> str:
    return text if len(text) <= _EXCERPT_CHARACTERS else f"{text[:_EXCERPT_CHARACTERS]}…"


RUN = record(
    {
        "runId": _TEXT,
        "sessionId": _TEXT,
        "preset": _TEXT_OR_NOTHING,
        "task": _TEXT,
        "status": _TEXT,
        "paths": {"type": "object", "additionalProperties": _TEXT},
    },
    sometimes={"error": _TEXT_OR_NOTHING, "finalText": _TEXT_OR_NOTHING},
)
COUNTS = record({word: {"type": "integer"} for word in ("running", "completed", "failed", "aborted", "total")})


# --- sessions and profiles -----------------------------------------------------------------------------------


def session_content(text: str, details: Mapping[str, Any]) -> Content:
    """The text that was asked for, whole, and whose it is."""
    left_out = ("maxLines", "reason", "runDirs", "journal")
    return {"text": text, **{name: value for name, value in details.items() if name not in left_out}}


SESSION: Mapping[str, Schema] = {
    "text": _TEXT,
    "sessionId": _TEXT,
    "status": {"enum": ["running", "completed", "error"]},
    "taskName": _TEXT,
    "runCount": {"type": "integer"},
    "error": _TEXT_OR_NOTHING,
}
PROFILES = record(
    {"count": {"type": "integer"}, "profiles": {"type": "object", "additionalProperties": _TEXT}},
    sometimes={"warnings": listed(_TEXT)},
)
