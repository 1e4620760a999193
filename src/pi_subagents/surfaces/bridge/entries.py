"""Entries in the log of a conversation: what is written of a run when it is over, and what can be read back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pi_subagents.clock import LAST_MS
from pi_subagents.encoding import converted, encode_any, json_facts, size_of
from pi_subagents.fold import RunState, fold
from pi_subagents.harness.pi.decoder import PiDecoder
from pi_subagents.models import Reason, Usage
from pi_subagents.models.event import Created, Exited, Message, TextPart, ToolCallPart
from pi_subagents.outcome import ending
from pi_subagents.progress import documented_status
from pi_subagents.runs.background import LAUNCH_ENTRY, UPDATE_ENTRY

RUN_ENTRY = "pi-subagents"
DONE_MESSAGE = "pi-subagents:bg-done"
INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)"
_MAX_TEXT_BYTES = 64 * 1024
_MAX_RESULT_BYTES = 2048
"""More than is told of the result of a tool."""
_BETWEEN = "\n---\n"


def run_entry(state: RunState, run_dir: Path) -> dict[str, Any]:
    """What is kept of a foreground run; its record on disk says more, for as long as there is one."""
    told = ("session_id", "run_id", "reason", "started_at", "completed_at", "model", "exit_code", "message_count")
    return {
        **json_facts(state, *told),
        "runDir": str(run_dir),
        "taskName": state.name,
        "status": documented_status(state.status),
        "errorMessage": state.error,
        "profileName": state.profile,
        "prompt": _cut(state.prompt),
        "usage": state.usage.to_json(),
        "output": _cut(state.text),
        "messages": _latest(list(map(_brief, state.messages))),
    }


def spend(usage: Usage) -> dict[str, Any] | None:
    """What was spent, in pi's form; how the cost is made up is not known here."""
    if usage == Usage():
        return None
    counted = json_facts(usage, "input", "output", "cache_read", "cache_write", "total_tokens")
    parts = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    return {**counted, "cost": {**parts, "total": usage.cost}}


def _cut(text: str, limit: int = _MAX_TEXT_BYTES) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    return f"{data[:limit].decode('utf-8', 'ignore')}\n[cut: {len(data) - limit} bytes are missing]"


def _latest(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many of the last ones as there is room for, the very last in any case."""
    kept, room = messages[-1:], _MAX_TEXT_BYTES - sum(map(size_of, messages[-1:]))
    for message in reversed(messages[:-1]):
        room -= size_of(message)
        if room < 0:
            break
        kept.insert(0, message)
    return kept


def _brief(message: Message) -> dict[str, Any]:
    """A message as `pi` writes it, as much of it as is told of a session; thoughts and images are not."""
    limit = _MAX_TEXT_BYTES if message.role == "assistant" else _MAX_RESULT_BYTES
    content: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            content.append({"type": "text", "text": _cut(part.text, limit)})
        elif isinstance(part, ToolCallPart):
            content.append({"type": "toolCall", "id": part.id, "name": part.name, "arguments": _few(part.arguments)})
    facts = json_facts(message, "tool_call_id", "tool_name", "is_error", "stop_reason", "error_message")
    return {"role": message.role, "content": content, **{name: fact for name, fact in facts.items() if fact}}


def _few(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call, without those that are long: all that is shown of them is their beginning."""
    few: dict[str, Any] = {}
    for name, value in arguments.items():
        few[name] = _cut(value, _MAX_RESULT_BYTES) if isinstance(value, str) else value
        if size_of(few) > 2 * _MAX_RESULT_BYTES:
            del few[name]
            break
    return few


class _Run(msgspec.Struct, frozen=True, rename="camel"):
    """As much of an entry as is needed to answer for a run.

    Like the extension that was there before this one, ours keeps the `messages` of its agents as `pi` writes them; an
    earlier version of it kept a `transcript` instead.
    """

    session_id: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{16}\Z")]  # it becomes part of a directory's name
    task_name: str
    status: str
    output: str = ""
    transcript: str = ""
    prompt: str = ""
    error_message: str | None = None
    messages: list[Any] = []
    message_count: int = 0
    run_id: str = ""
    started_at: float | None = None
    completed_at: float | None = None
    model: str | None = None
    profile_name: str | None = None
    exit_code: int | None = None


def _state_of(run: _Run) -> RunState:
    """The run as far as its entry tells it."""
    messages = _messages(run.messages) if run.messages else _texts(run)
    if run.output and not any(_begin_alike(message.text, run.output) for message in messages):
        messages.append(Message(role="assistant", parts=(TextPart(run.output),)))  # it was still being said
    prompt = run.prompt or next((message.text for message in messages if message.role == "user"), "")
    begun_at, ended_at = (int(at) if at and 0 < at <= LAST_MS else 0 for at in (run.started_at, run.completed_at))
    created = Created(
        at=begun_at,
        run_id=run.run_id,
        session_id=run.session_id,
        name=run.task_name,
        prompt=prompt,
        cwd="",
        harness="",
        profile=run.profile_name,
        model=run.model,
    )
    is_over = run.status in ("completed", "error")
    error = run.error_message if is_over else INTERRUPTED
    end = ending(Reason.SETTLED if run.status == "completed" else Reason.LOST, error, ended_at)
    exited = [] if run.exit_code is None else [Exited(exit_code=run.exit_code)]
    state = fold(RunState(), [created, *messages, *exited, end])
    state.message_count = max(state.message_count, run.message_count)
    return state


def _begin_alike(text: str, other: str) -> bool:
    return text[:_MAX_RESULT_BYTES] == other[:_MAX_RESULT_BYTES]


def _messages(records: Iterable[Any]) -> list[Message]:
    decoder = PiDecoder()
    events = (
        event
        for record in records
        if isinstance(record, dict)
        for event in decoder.decode(encode_any({"type": "message_end", "message": record}), 0)
    )
    return [event for event in events if isinstance(event, Message)]


def _texts(run: _Run) -> list[Message]:
    """What an entry without messages tells; where in a transcript one of them ends cannot be said of all."""
    transcript = run.transcript
    for known in (f"[Error: {run.error_message}]", run.output):  # the one is said of every run that went wrong
        transcript = transcript.removesuffix(known).removesuffix(_BETWEEN)
    return [Message(role="assistant", parts=(TextPart(text),)) for text in (transcript, run.output) if text.strip()]


@dataclass
class Log:
    """What the conversation's own log says of runs."""

    told: set[str] = field(default_factory=set)
    launched: set[str] = field(default_factory=set)
    updated: set[str] = field(default_factory=set)
    _runs: dict[str, list[_Run]] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Any], told: Iterable[Any]) -> Log:
        """The log of a conversation that is opened again; what is malformed is left out."""
        log = cls(told={run_id for run_id in told if isinstance(run_id, str)})
        for entry in entries:
            if isinstance(entry, dict) and isinstance(entry.get("data"), dict):
                log.take(entry.get("type"), entry["data"])
        return log

    def take(self, kind: object, data: dict[str, Any]) -> None:
        """One entry."""
        if kind == RUN_ENTRY:
            try:
                run = converted(data, _Run)
            except msgspec.ValidationError:
                return
            self._runs.setdefault(run.session_id, []).append(run)
        elif kind in (LAUNCH_ENTRY, UPDATE_ENTRY) and isinstance(run_id := data.get("runId"), str):
            (self.launched if kind == LAUNCH_ENTRY else self.updated).add(run_id)

    def add(self, earlier: Log) -> None:
        """What an earlier reading of the same log knew."""
        self.launched |= earlier.launched
        self.updated |= earlier.updated
        self._runs = {**earlier._runs, **self._runs}

    def remembered(self, session_id: str) -> list[RunState]:
        """The runs of a session, oldest first; for those whose record is gone."""
        return list(map(_state_of, self._runs.get(session_id, [])))
