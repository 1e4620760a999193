"""Runs that people start from the screen: in the background, each held by a keeper, so that they outlive it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pi_subagents.background import launch
from pi_subagents.background.registry import TERMINAL
from pi_subagents.errors import InvalidCall
from pi_subagents.fold import RunState
from pi_subagents.harness import PiRpc
from pi_subagents.models import Task
from pi_subagents.models_offered import OfferedModels
from pi_subagents.paths import project_of
from pi_subagents.planning import Place, plan_tasks
from pi_subagents.preparation import prepare_runs
from pi_subagents.profiles import load_presets, load_profiles
from pi_subagents.sessions import Sessions, resumed_task
from pi_subagents.store import session_of
from pi_subagents.workshop import Workshop

_NAME_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Agent:
    """What a task can be given to; with neither profile nor preset, `pi` as it is."""

    profile: str | None = None
    preset: str | None = None
    description: str = ""


def agents_at(place: Place) -> Iterator[Agent]:
    """Every agent that can be named at a place, the one without a name first."""
    yield Agent()
    for name, found in load_presets(place.cwd, place.agent_dir).profiles.items():
        yield Agent(preset=name, description=found.description or "")
    for name, found in load_profiles(place.cwd, place.agent_dir).profiles.items():
        yield Agent(profile=name, description=found.description or "")


def start(place: Place, agent: Agent, prompt: str) -> RunState:
    """Start an agent on a task; raises PiSubagentsError if it cannot be, and then leaves no record."""
    settings = place.settings()
    workshop = Workshop(place, settings, PiRpc())
    task = Task(_name(prompt), prompt, timeout=None, profile=agent.profile, preset=agent.preset)
    (plan,) = plan_tasks([task], place, models=OfferedModels(place, settings))
    if plan.problem:
        raise InvalidCall(plan.problem)
    return launch(workshop.prepare(plan, owner=TERMINAL), place, settings).state


def resume(place: Place, run_dir: Path, prompt: str) -> RunState:
    """Go on with the session of a run; raises PiSubagentsError."""
    # Profiles and settings are those of the project that the session belongs to; others may have one of its id.
    there = Place.here(project_of(run_dir), place.environ)
    settings = there.settings()
    latest = Sessions(there).find(session_of(run_dir)).latest
    (run,) = prepare_runs([resumed_task(latest, prompt)], there, settings, harness=PiRpc(), owner=TERMINAL)
    return launch(run, there, settings).state


def _name(prompt: str) -> str:
    words = " ".join(prompt.split())
    return words if len(words) <= _NAME_CHARACTERS else f"{words[: _NAME_CHARACTERS - 1]}…"
