"""Runs that people start from the screen: in the background, each held by a keeper, so that they outlive it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pi_subagents.background.launch import launch_all
from pi_subagents.delegation.missing import require_everything
from pi_subagents.delegation.program_facts import with_default_models
from pi_subagents.delegation.prompts import task_name
from pi_subagents.fold import RunState
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.profiles import PRESET, Agent
from pi_subagents.runs.background import TERMINAL
from pi_subagents.runs.run import Run
from pi_subagents.runs.sessions import Sessions

Say = Callable[[str], None]


def start(place: Place, agent: Agent | None, prompt: str, say: Say) -> RunState:
    """Start an agent, or `pi` as it is, on a task; `say` is told what was chosen for it. Raises PiSubagentsError."""
    name = agent.profile.name if agent else None
    is_preset = agent is not None and agent.kind is PRESET
    return _launch(
        Task(
            task_name(prompt),
            prompt,
            timeout=None,
            profile=None if is_preset else name,
            preset=name if is_preset else None,
        ),
        place,
        say,
    )


def resume(place: Place, run: Run, prompt: str, say: Say) -> RunState:
    """Go on with the session of a run, likewise; raises PiSubagentsError."""
    # Profiles and settings are those of the project that the session belongs to; others may have one of its id.
    there = Place.here(run.project, place.environ)
    return _launch(Sessions(there).find(run.session_id).latest.resumed_task(prompt), there, say)


def _launch(task: Task, place: Place, say: Say) -> RunState:
    (task,) = with_default_models([msgspec.structs.replace(task, timeout=None)], place, say)
    (run,) = launch_all([task], place, owner=TERMINAL, check=require_everything)
    return run.state
