"""What remains of a run for its callers: the document in `result.json` and the typed result of the Python API."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pi_subagents.clock import elapsed_ms
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
        return elapsed_ms(self.started_at, self.completed_at)


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
