"""Which agent does a task, and what of a profile may reach it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.delegation.planning import Plan, Planner
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.profiles import invalidate_profiles_cache


class Desk:
    """A person's own profiles, and tasks that name them."""

    def __init__(self, folder: Path) -> None:
        self.place = Place(folder / "project", folder / "agent", {})
        self.place.cwd.mkdir()

    def plan(self, profile: str = "", *, agent: str | None = None, model: str | None = None) -> Plan:
        path = self.place.agent_dir / "agent-profiles" / "p.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nname: p\n{profile}\n---\nBe brief.\n")
        invalidate_profiles_cache()
        return Planner(self.place).plan(Task("t", "Go", profile="p", agent=agent, model=model))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_profile_names_its_agent_and_a_task_another(desk: Desk) -> None:
    assert desk.plan("agent: claude").harness.name == "claude"
    assert desk.plan("agent: claude", agent="codex").harness.name == "codex"
    assert desk.plan("agent: claude", agent="pi").harness.name == "pi-rpc"
    assert desk.plan().harness.name == "pi-rpc"


def test_the_exact_harness_of_a_profile_stays_where_its_agent_does_the_task(desk: Desk) -> None:
    assert desk.plan("harness: pi-json", agent="pi").harness.name == "pi-json"


def test_a_profile_that_contradicts_itself_is_refused(desk: Desk) -> None:
    plan = desk.plan("agent: claude\nharness: pi-rpc")

    assert plan.problem == 'Profile "p" sets the agent "claude", but "pi-rpc" is a harness of pi'


@pytest.mark.parametrize(
    ("agent", "field", "able"),
    [
        ("codex", "tools: [read]", "pi, claude, opencode, gemini"),
        ("codex", "maxCost: 1", "claude"),
        ("pi", "maxTurns: 3", "claude, gemini"),
        ("pi", "approvals: deny", "claude, codex, opencode, gemini, copilot, qwen, acp"),
    ],
)
def test_what_cannot_reach_an_agent_is_refused_before_the_start_with_what_to_do(
    desk: Desk, agent: str, field: str, able: str
) -> None:
    assert desk.plan(f"agent: {agent}\n{field}").problem == (
        f'Profile "p" sets "{field.partition(":")[0]}", which the agent "{agent}" does not support. '
        f"Leave it out, or choose an agent that supports it: {able}"
    )


def test_of_several_fields_that_no_other_agent_takes_together_none_is_recommended(desk: Desk) -> None:
    assert desk.plan("agent: codex\nmaxCost: 1\nextensions: [x]").problem == (
        'Profile "p" sets "extensions", "maxCost", which the agent "codex" does not support. Leave them out'
    )


def test_an_agent_that_asks_nobody_may_be_allowed_whatever_it_would_ask(desk: Desk) -> None:
    assert desk.plan("approvals: allow").problem is None


def test_a_model_for_one_agent_is_not_passed_on_to_another(desk: Desk) -> None:
    plan = desk.plan("model: acme/large", agent="claude")

    assert plan.problem is None
    assert plan.profile is not None
    assert plan.profile.model is None
    assert plan.note == 'The model "acme/large" is meant for pi, so claude uses its default.'


def test_a_model_that_the_task_names_is_meant_for_its_agent(desk: Desk) -> None:
    plan = desk.plan("model: acme/large", agent="claude", model="opus")

    assert plan.profile is not None
    assert plan.profile.model == "opus"


@pytest.mark.parametrize(
    ("own", "field"),
    [
        ("pi", "apiKey: sk-0123456789"),
        ("pi", "extraArgs: [--verbose]"),
        ("codex", "inherit: true"),
        ("codex", "approvals: allow"),
    ],
)
def test_what_can_only_be_meant_for_one_agent_is_not_given_to_another(desk: Desk, own: str, field: str) -> None:
    key, profile = field.partition(":")[0], f"agent: {own}\n{field}"

    assert desk.plan(profile, agent="claude").problem == f'Profile "p" sets "{key}" for {own}, so claude cannot use it'
    assert desk.plan(f"agent: claude\n{field}").problem is None


def test_what_a_profile_denies_is_denied_to_every_agent(desk: Desk) -> None:
    plan = desk.plan("agent: codex\napprovals: deny", agent="claude")

    assert plan.profile is not None
    assert plan.profile.approvals == "deny"


def test_an_agent_that_there_is_not_is_told_with_those_that_there_are(desk: Desk) -> None:
    assert desk.plan(agent="cladue").problem == (
        'Unknown agent: "cladue". Available agents: pi, claude, codex, opencode, gemini, copilot, qwen, acp'
    )


def test_a_thinking_level_that_an_agent_lacks_becomes_the_nearest_and_is_noted(desk: Desk) -> None:
    assert desk.plan("agent: claude\nthinkingLevel: minimal").note == (
        'The thinking level "minimal" becomes "low" for claude.'
    )


def test_every_tool_that_an_agent_does_not_have_is_an_error_before_the_start(desk: Desk) -> None:
    plan = desk.plan("agent: claude\ntools: [raed, grep, Bsh]")
    assert [problem.sentence for problem in plan.problems] == [
        'Profile "p" names "raed" in "tools", which claude does not have. Did you mean "read"?',
        'Profile "p" names "Bsh" in "tools", which claude does not have. Did you mean "bash"?',
    ]
