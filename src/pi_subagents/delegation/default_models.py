"""A model for presets that name none: people are given the one that `pi` would take; models are asked to choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from pi_subagents.delegation.offered_models import OfferedModels
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.profiles import PRESET, UnknownProfile, find_agent


def with_default_models(tasks: Sequence[Task], place: Place, say: Callable[[str], None]) -> list[Task]:
    """The tasks, those that need a model and have none with `pi`'s default, which is said once for each agent."""
    if not any(task.preset and not task.model for task in tasks):
        return list(tasks)
    offered = OfferedModels(place, place.settings())
    chosen: dict[str, str | None] = {}
    for task in tasks:
        if task.preset and not task.model and task.preset not in chosen:
            chosen[task.preset] = _default_for(task.preset, place, offered)
            if model := chosen[task.preset]:
                say(f'"{task.preset}" names no model: using {model}, the default of pi')
    return [
        task if task.model else msgspec.structs.replace(task, model=chosen.get(task.preset or "")) for task in tasks
    ]


def _default_for(name: str, place: Place, offered: OfferedModels) -> str | None:
    """None where the agent has a model, or where no obvious one is to be had from the provider that it names."""
    with suppress(UnknownProfile):
        agent = find_agent(name, PRESET, place.cwd, place.agent_dir).profile
        if agent.model is None:
            return offered.obvious_of(agent.provider) if agent.provider else offered.default()
    return None
