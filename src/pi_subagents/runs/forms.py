"""Runs and sessions for programs: every JSON form of them. Only that of `result.json` is with the store, its writer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.encoding import json_facts
from pi_subagents.models import Status
from pi_subagents.progress import told_besides
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
        **json_facts(state, "run_id", "session_id"),
        "preset": state.asked_as,
        "task": state.prompt,
        **json_facts(state, "cwd", "requested_model", "resolved_model"),
        "status": "running" if state.status is Status.QUEUED else state.status.value,
        "paths": {"runDir": str(run.run_dir), **_files_in(run.run_dir)},
        "usage": msgspec.to_builtins(state.usage),
        **told_besides(state),
        **json_facts(state, "created_at", "started_at", "completed_at"),
    }
    if state.status is Status.QUEUED:
        row["queued"] = True
    if state.is_damaged:
        row["damaged"] = True
    if run.is_over:
        row |= {**json_facts(state, "reason", "error", "exit_code"), "finalText": state.text or None}
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
    return {**run_row(run), **json_facts(state, "name", "profile", "owner"), "project": str(run.project)}


def result_row(result: RunResult) -> Form:
    """What `run` and `sessions resume` print of a task."""
    return {
        **json_facts(result, "name", "status", "reason", "output", "error", "session_id", "run_id"),
        "runDir": str(result.run_dir),
        **json_facts(result, "agent", "exit_code", "profile", "provider", "model", "usage", "tool_count"),
        **json_facts(
            result, "beginning", "knows_tokens", "knows_cost", "context_used", "context_size", "changed_files", "denied"
        ),
        **json_facts(result, "started_at", "completed_at", "duration_ms"),
    }


def output_row(session: Session) -> Form:
    """What `sessions output` prints of a session."""
    state = session.latest.state
    return {
        "sessionId": session.id,
        "runId": state.run_id,
        "runCount": session.run_count,
        **json_facts(state, "name", "status", "reason"),
        "damaged": state.is_damaged,
        "error": state.error,
        "output": state.text,
        "agent": state.agent,
        **json_facts(state, "beginning", "knows_tokens", "knows_cost", "changed_files"),
        **json_facts(state, "profile", "provider", "model", "usage", "tool_count", "started_at", "completed_at"),
        "runDir": str(session.latest.run_dir),
    }


def session_row(session: SessionSummary, total: Used | None = None) -> Form:
    """A session in a list; `total`: what all of its runs have used together."""
    state = session.latest.state
    row: Form = {
        **json_facts(state, "session_id", "name", "status", "reason"),
        "damaged": state.is_damaged,
        "agent": state.agent,
        **json_facts(state, "error", "profile", "preset", "provider", "model"),
        "runCount": session.run_count,
        "project": str(session.latest.project),
        "runDir": str(session.latest.run_dir),
        **json_facts(state, "created_at", "started_at", "completed_at", "tool_count"),
        "tokens": state.usage.total_tokens,
        "cost": state.usage.cost,
        **json_facts(state, "knows_tokens", "knows_cost"),
    }
    if total is not None:
        row["total"] = json_facts(total, "tokens", "cost", "knows_tokens", "knows_cost", "tool_count")
    return row
