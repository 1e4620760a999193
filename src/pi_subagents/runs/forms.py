"""Runs and sessions for programs: every JSON form of them. Only that of `result.json` is with the store, its writer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.models import Status
from pi_subagents.runs.listing import SessionSummary, Used
from pi_subagents.runs.run import Run, RunResult
from pi_subagents.runs.sessions import Session
from pi_subagents.store import JOURNAL_FILE, META_FILE, RESULT_FILE

Form = dict[str, Any]

_FILES = {
    "meta": META_FILE,
    "events": JOURNAL_FILE,
    "result": RESULT_FILE,
    "stdout": "stdout.log",
    "stderr": "stderr.log",
    "transcript": "transcript.log",
    "session": "child-session.jsonl",
    "systemPrompt": "system-prompt.md",
}


def run_row(run: Run) -> Form:
    """A run in a tool's details: what was asked, how it stands, where its record is.

    A run that waits for its turn counts as running and says so. A damaged record says so too.
    """
    state = run.state
    row: Form = {
        "runId": state.run_id,
        "sessionId": state.session_id,
        "preset": state.agent,
        "task": state.prompt,
        "cwd": state.cwd,
        "requestedModel": state.requested_model,
        "resolvedModel": state.resolved_model,
        "status": "running" if state.status is Status.QUEUED else state.status.value,
        "paths": {"runDir": str(run.run_dir), **_files_in(run.run_dir)},
        "usage": msgspec.to_builtins(state.usage),
        "createdAt": state.created_at,
        "startedAt": state.started_at,
        "completedAt": state.completed_at,
    }
    if state.status is Status.QUEUED:
        row["queued"] = True
    if state.is_damaged:
        row["damaged"] = True
    if run.is_over:
        row |= {
            "reason": state.reason,
            "error": state.error,
            "exitCode": state.exit_code,
            "finalText": state.text or None,
        }
    return row


def _files_in(run_dir: Path) -> dict[str, str]:
    """Those files of a record that there are: whoever is told of one will look into it."""
    try:
        there = set(os.listdir(run_dir))  # noqa: PTH208 - once, for all of them
    except OSError:
        return {}
    return {name: str(run_dir / file) for name, file in _FILES.items() if file in there}


def background_row(run: Run) -> Form:
    """What `background list`, `status`, `wait` and `run --background` print of a run."""
    state = run.state
    about = {"name": state.name, "profile": state.profile, "owner": state.owner, "project": str(run.project)}
    return {**run_row(run), **about}


def result_row(result: RunResult) -> Form:
    """What `run` and `sessions resume` print of a task."""
    return {
        "name": result.name,
        "status": result.status,
        "reason": result.reason,
        "output": result.output,
        "error": result.error,
        "sessionId": result.session_id,
        "runId": result.run_id,
        "runDir": str(result.run_dir),
        "exitCode": result.exit_code,
        "profile": result.profile,
        "provider": result.provider,
        "model": result.model,
        "usage": result.usage,
        "toolCount": result.tool_count,
        "startedAt": result.started_at,
        "completedAt": result.completed_at,
        "durationMs": result.duration_ms,
    }


def output_row(session: Session) -> Form:
    """What `sessions output` prints of a session."""
    state = session.latest.state
    return {
        "sessionId": session.id,
        "runId": state.run_id,
        "runCount": session.run_count,
        "name": state.name,
        "status": state.status,
        "reason": state.reason,
        "damaged": state.is_damaged,
        "error": state.error,
        "output": state.text,
        "profile": state.profile,
        "provider": state.provider,
        "model": state.model,
        "usage": state.usage,
        "toolCount": state.tool_count,
        "startedAt": state.started_at,
        "completedAt": state.completed_at,
        "runDir": str(session.latest.run_dir),
    }


def session_row(session: SessionSummary, total: Used | None = None) -> Form:
    """A session in a list; `total`: what all of its runs have used together."""
    state = session.latest.state
    row: Form = {
        "sessionId": state.session_id,
        "name": state.name,
        "status": state.status,
        "reason": state.reason,
        "damaged": state.is_damaged,
        "error": state.error,
        "profile": state.profile,
        "preset": state.preset,
        "provider": state.provider,
        "model": state.model,
        "runCount": session.run_count,
        "project": str(session.latest.project),
        "runDir": str(session.latest.run_dir),
        "createdAt": state.created_at,
        "startedAt": state.started_at,
        "completedAt": state.completed_at,
        "toolCount": state.tool_count,
        "tokens": state.usage.total_tokens,
        "cost": state.usage.cost,
    }
    if total is not None:
        row["total"] = {"tokens": total.tokens, "cost": total.cost, "toolCount": total.tool_count}
    return row
