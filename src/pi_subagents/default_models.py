"""A model for presets that name none: people are given the one that `pi` would take; models are asked to choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from pi_subagents.models import Task
from pi_subagents.models_offered import OfferedModels
from pi_subagents.planning import Place
from pi_subagents.profiles import PRESET, UnknownProfile, find_agent


def with_default_models(tasks: Sequence[Task], place: Place, say: Callable[[str], None]) -> list[Task]:
    """The tasks, those that need a model and have none with `pi`'s default, which is said once for each agent."""
    needy = dict.fromkeys(task.preset for task in tasks if task.preset and _needs_model(task, place))
    default = OfferedModels(place, place.settings()).default() if needy else None
    if default is None:
        return list(tasks)
    for name in needy:
        say(f'"{name}" names no model: using {default}, the default of pi')
    return [
        msgspec.structs.replace(task, model=default) if task.preset in needy and not task.model else task
        for task in tasks
    ]


def _needs_model(task: Task, place: Place) -> bool:
    with suppress(UnknownProfile):
        agent = find_agent(task.preset or "", PRESET, place.cwd, place.agent_dir).profile
        return not task.model and agent.model is None
    return False
