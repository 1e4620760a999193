"""What results say: to models in structured content, with its JSON Schema, and of runs of presets to people, in lines.

Structured content is all that the models of many MCP clients ever see of a call. So it holds the answer, bounded, and
none of what only a program or a display needs: that is in the details.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pi_subagents.clock import now_ms
from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.settings import Settings
from pi_subagents.text import Line, Segment, Style, clean, duration

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
        **({"agent": state.other_agent} if state.other_agent else {}),
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
    },
    sometimes={"agent": _TEXT},
)
TASKS = record({"tasks": listed(_TASK)}, sometimes={"warnings": listed(_TEXT)})


# --- background runs -----------------------------------------------------------------------------------------


_FOR_PROGRAMS = ("usage", "exitCode", "knowsCost", "contextUsed", "contextSize")


def run_content(row: Mapping[str, Any], *, alone: bool = True) -> Content:
    """A row without what nobody asks a model; a run among others says only how its answer begins."""
    content = {name: value for name, value in row.items() if name not in _FOR_PROGRAMS}
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


# --- for people ---------------------------------------------------------------------------------------------

Row = Mapping[str, Any]

_ICONS = {
    "running": (Style.WARNING, "⏳"),
    "completed": (Style.SUCCESS, "✓"),
    "failed": (Style.ERROR, "✗"),
    "aborted": (Style.ERROR, "✗"),
}
_OTHER_ICON = (Style.DIM, "•")
_ERROR_LINES = 3


def run_line(run: Row, words: str) -> Line:
    """A run in one line."""
    line = _run_words(run, words)
    if run.get("queued"):
        return [*line, (Style.DIM, " • waiting")]
    elapsed = (run["completedAt"] or now_ms()) - run["startedAt"] if run.get("startedAt") else 0
    return [*line, (Style.DIM, f" • {duration(elapsed // 1000 if not run['completedAt'] else elapsed / 1000)}")]


def run_lines(run: Row, *more: Segment) -> list[Line]:
    """A run with its task, and what went wrong."""
    return [[*run_line(run, _task_words(run)), *more], *_error_lines(run)]


def launched_lines(run: Row) -> list[Line]:
    """A run that has just begun in the background."""
    return [[*_run_words(run, _task_words(run)), (Style.DIM, " • in the background")], _ids(run)]


def ended_lines(run: Row) -> list[Line]:
    """What stands in place of `launched_lines` once the run is over."""
    return [run_line(run, f"{_task_words(run)} • {run['status']}"), *_error_lines(run), _ids(run)]


def end_line(status: str, words: str) -> Line:
    """What is said of a run's end, in one line."""
    return [_ICONS.get(status, _OTHER_ICON), (Style.TEXT, " "), (Style.MUTED, clean(words))]


def _run_words(run: Row, words: str) -> Line:
    line: Line = [_ICONS.get(str(run["status"]), _OTHER_ICON), (Style.TEXT, " ")]
    for name in (run.get("preset"), run.get("agent")):
        line += [(Style.BOLD, name), (Style.DIM, " • ")] if name else []
    return [*line, (Style.MUTED, clean(words))]


def _task_words(run: Row) -> str:
    return " ".join(clean(run.get("task") or "").split())[:80]


def _error_lines(run: Row) -> list[Line]:
    lines = [line for line in clean(run.get("error") or "", keep_newlines=True).split("\n") if line.strip()]
    return [[(Style.ERROR, f"  {line}")] for line in lines[:_ERROR_LINES]]


def _ids(run: Row) -> Line:
    where: Line = [(Style.DIM, "  run "), (Style.ACCENT, run["runId"]), (Style.DIM, " • session ")]
    return [*where, (Style.ACCENT, run["sessionId"])]
