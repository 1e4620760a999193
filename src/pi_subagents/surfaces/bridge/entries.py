"""Entries in the log of a conversation: what is written of a run when it is over, and what can be read back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.background.registry import LAUNCH_ENTRY, UPDATE_ENTRY
from pi_subagents.fold import RunState
from pi_subagents.tools import Remembered
from pi_subagents.transcripts import documented_status, session_transcript

RUN_ENTRY = "pi-subagents"
DONE_MESSAGE = "pi-subagents:bg-done"
INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)"
_MAX_TEXT_BYTES = 64 * 1024


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
    """As much of an entry as is needed to answer for a run."""

    session_id: str
    task_name: str
    status: str
    output: str = ""
    transcript: str = ""
    error_message: str | None = None


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

    def remembered(self, session_id: str) -> Remembered | None:
        """What is left of a session whose record is gone."""
        runs = self._runs.get(session_id)
        if not runs:
            return None
        latest = runs[-1]
        is_over = latest.status in ("completed", "error")
        return Remembered(
            session_id,
            latest.task_name,
            latest.status if is_over else "error",
            latest.output,
            "\n---\n".join(run.transcript for run in runs),
            len(runs),
            latest.error_message if is_over else INTERRUPTED,
        )
