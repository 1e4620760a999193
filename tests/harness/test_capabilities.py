"""What is told of an agent's abilities is what becomes of a task that asks for them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pi_subagents.delegation.configuration import why_no_agent_can
from pi_subagents.harness import AGENTS, DEFAULT_HARNESS, Harness
from pi_subagents.harness.capabilities import CAPABILITIES, fields_taken
from pi_subagents.harness.table import harness_for_agent
from pi_subagents.models import Profile
from pi_subagents.models.task import Secret
from pi_subagents.profiles.fields import FIELDS

HARNESSES: dict[str, Harness] = {name: harness_for_agent(name, DEFAULT_HARNESS) for name in AGENTS}
VALUES: dict[str, Any] = {
    **{"text": "x", "list": ("x",), "words": ("x",), "flag": True, "secret": Secret("x"), "count": 1, "money": 1.0},
}
FOR_US = ("name", "description", "harness", "agent", "resume_mode")


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda capability: str(capability.name))
def test_there_is_an_agent_for_every_row_of_the_table(capability: Any) -> None:
    assert any(capability.is_had_by(harness) for harness in HARNESSES.values())


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    "field", [field for field in FIELDS if field.attribute not in FOR_US], ids=lambda f: str(f.key)
)
def test_a_field_that_an_agent_is_said_not_to_take_is_refused_and_no_other(agent: str, field: Any) -> None:
    profile = msgspec.structs.replace(Profile(name="p", agent=agent), **{field.attribute: VALUES[field.kind]})
    why = why_no_agent_can(profile) or ""
    refused = f'sets "{field.key}", which the agent' in why
    assert refused is (field.attribute not in fields_taken(HARNESSES[agent]))


def test_who_keeps_processes_makes_them_ready_for_the_next_task() -> None:
    assert [name for name, harness in HARNESSES.items() if harness.can_be_kept] == ["pi"]
