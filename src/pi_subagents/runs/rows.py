"""A run of a preset as a row of a tool's details: what was asked, how it stands, where its record is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.store import JOURNAL_FILE, META_FILE, RESULT_FILE

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


def run_row(state: RunState, run_dir: Path) -> dict[str, Any]:
    """The row; a run that waits for its turn counts as running and says so. A damaged record says so too."""
    row: dict[str, Any] = {
        "runId": state.run_id,
        "sessionId": state.session_id,
        "preset": state.agent,
        "task": state.prompt,
        "cwd": state.cwd,
        "requestedModel": state.requested_model,
        "resolvedModel": state.resolved_model,
        "status": "running" if state.status is Status.QUEUED else state.status.value,
        "paths": {"runDir": str(run_dir), **_files_in(run_dir)},
        "usage": msgspec.to_builtins(state.usage),
        "createdAt": state.created_at,
        "startedAt": state.started_at,
        "completedAt": state.completed_at,
    }
    if state.status is Status.QUEUED:
        row["queued"] = True
    if state.is_damaged:
        row["damaged"] = True
    if state.status.is_terminal:
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
