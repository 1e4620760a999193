"""Entries in the log of a conversation: what is written of a run when it is over, and what can be read back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pi_subagents.background.registry import LAUNCH_ENTRY, UPDATE_ENTRY
from pi_subagents.clock import LAST_MS
from pi_subagents.encoding import encode_any
from pi_subagents.fold import RunState, fold
from pi_subagents.harness import PiJson
from pi_subagents.models import Reason
from pi_subagents.models.event import Created, Message, TextPart
from pi_subagents.outcome import ending
from pi_subagents.transcripts import documented_status, session_transcript

RUN_ENTRY = "pi-subagents"
DONE_MESSAGE = "pi-subagents:bg-done"
INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)"
_MAX_TEXT_BYTES = 64 * 1024
_BETWEEN = "\n---\n"


def run_entry(state: RunState, run_dir: Path) -> dict[str, Any]:
    """What is kept of a foreground run; its record on disk says more, for as long as there is one."""
    return {
        "sessionId": state.session_id,
        "runId": state.run_id,
        "runDir": str(run_dir),
        "taskName": state.name,
        "status": documented_status(state.status),
        "reason": state.reason,
        "errorMessage": state.error,
        "startedAt": state.started_at,
        "completedAt": state.completed_at,
        "model": state.model,
        "profileName": state.profile,
        "prompt": _cut(state.prompt),
        "exitCode": state.exit_code,
        "usage": state.usage.to_json(),
        "output": _cut(state.text),
        "transcript": _cut(session_transcript([state])),
    }


def _cut(text: str) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= _MAX_TEXT_BYTES:
        return text
    return f"{data[:_MAX_TEXT_BYTES].decode('utf-8', 'ignore')}\n[cut: {len(data) - _MAX_TEXT_BYTES} bytes are missing]"


class _Run(msgspec.Struct, frozen=True, rename="camel"):
    """As much of an entry as is needed to answer for a run.

    The extension that was there before this one kept the `messages` of its agents, as `pi` writes them.
    """

    session_id: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{16}\Z")]  # it becomes part of a directory's name
    task_name: str
    status: str
    output: str = ""
    transcript: str = ""
    prompt: str = ""
    error_message: str | None = None
    messages: list[dict[str, Any]] = []
    run_id: str = ""
    started_at: float | None = None
    completed_at: float | None = None
    model: str | None = None
    profile_name: str | None = None
    exit_code: int | None = None


def _state_of(run: _Run) -> RunState:
    """The run as far as its entry tells it."""
    messages = _messages(run.messages) if run.messages else _texts(run)
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
    return fold(RunState(), [created, *messages, end])


def _messages(records: Iterable[dict[str, Any]]) -> list[Message]:
    decoder = PiJson().decoder()
    events = (
        event
        for record in records
        for event in decoder.decode(encode_any({"type": "message_end", "message": record}), 0)
    )
    return [event for event in events if isinstance(event, Message)]


def _texts(run: _Run) -> list[Message]:
    pieces = run.transcript.split(_BETWEEN) if run.transcript else []
    if run.error_message and pieces and pieces[-1] == f"[Error: {run.error_message}]":
        pieces.pop()  # it is said of every run that went wrong
    if run.output and (not pieces or pieces[-1] != run.output):
        pieces.append(run.output)
    return [Message(role="assistant", parts=(TextPart(piece),)) for piece in pieces]


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
                run = msgspec.convert(data, _Run)
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
