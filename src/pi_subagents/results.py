"""What remains of a run for its callers: the document in `result.json` and the typed result of the Python API."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.fold import RunState
from pi_subagents.models.run import Reason, Status
from pi_subagents.models.usage import Usage


@dataclass(frozen=True, slots=True)
class RunResult:
    """How one task ended. `output` is the agent's last text; `error` a sentence when it did not complete."""

    name: str
    session_id: str
    run_id: str
    run_dir: Path
    status: Status
    reason: Reason | None
    output: str
    error: str | None
    exit_code: int | None
    profile: str | None
    provider: str | None
    model: str | None
    usage: Usage
    tool_count: int
    started_at: int | None
    completed_at: int | None

    @property
    def ok(self) -> bool:
        """Whether the task was completed."""
        return self.status is Status.COMPLETED

    @property
    def duration_s(self) -> float:
        """From the start of the agent to the end of the run; 0 for an agent that never started."""
        return self.duration_ms / 1000

    @property
    def duration_ms(self) -> int:
        """The same, as documents have it."""
        return _between(self.started_at, self.completed_at)


def run_result(state: RunState, run_dir: Path) -> RunResult:
    """The typed result of a run in its present state."""
    return RunResult(
        name=state.name,
        session_id=state.session_id,
        run_id=state.run_id,
        run_dir=run_dir,
        status=state.status,
        reason=state.reason,
        output=state.text,
        error=state.error,
        exit_code=state.exit_code,
        profile=state.profile,
        provider=state.provider,
        model=state.model,
        usage=state.usage,
        tool_count=state.tool_count,
        started_at=state.started_at,
        completed_at=state.completed_at,
    )


def result_document(state: RunState) -> dict[str, Any]:
    """The content of `result.json`: derived from the journal, and rebuilt from it when lost."""
    return {
        "runId": state.run_id,
        "sessionId": state.session_id,
        "name": state.name,
        "profile": state.profile,
        "preset": state.preset,
        "requestedModel": state.requested_model,
        "resolvedModel": state.resolved_model,
        "status": state.status,
        "reason": state.reason,
        "damaged": state.is_damaged,
        "error": state.error,
        "exitCode": state.exit_code,
        "stopReason": state.stop_reason,
        "provider": state.provider,
        "model": state.model,
        "thinkingLevel": state.thinking_level,
        "finalText": state.text or None,
        "usage": msgspec.to_builtins(state.usage),
        "toolCount": state.tool_count,
        "messageCount": state.message_count,
        "createdAt": state.created_at,
        "startedAt": state.started_at,
        "completedAt": state.completed_at,
        "durationMs": _between(state.started_at, state.completed_at),
    }


def _between(started_at: int | None, completed_at: int | None) -> int:
    return 0 if started_at is None or completed_at is None else completed_at - started_at
