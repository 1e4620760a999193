"""Background runs for programs: the same facts in every command of the group."""

from __future__ import annotations

from typing import Any

from pi_subagents.paths import project_of
from pi_subagents.runs.background import KnownRun
from pi_subagents.runs.rows import run_row


def background_row(run: KnownRun) -> dict[str, Any]:
    """What `background list`, `status`, `wait` and `run --background` print of a run as JSON."""
    about = {
        "name": run.state.name,
        "profile": run.state.profile,
        "owner": run.state.owner,
        "project": str(project_of(run.run_dir)),
    }
    return {**run_row(run.state, run.run_dir), **about}
