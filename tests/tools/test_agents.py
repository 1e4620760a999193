"""Tasks that name an agent other than `pi`, as a model asks for it and sees it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.harness import AGENTS
from pi_subagents.models import Task
from pi_subagents.testing import MODELS_VARIABLE, answer, prints, script
from pi_subagents.tools import TOOLS
from tests.kit.other_agents import bring_other_agents
from tests.kit.workplace import Workplace


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workplace]:
    bring_other_agents(monkeypatch)
    desk = Workplace(tmp_path, {MODELS_VARIABLE: "acme/large"})
    desk.write_preset("scout", "model: acme/large")
    yield desk
    desk.close()


def test_every_tool_that_starts_agents_offers_those_that_there_are_and_asks_for_none() -> None:
    for name in ("delegate_to_subagents", "subagent"):
        inner = TOOLS[name].input_schema["properties"]["tasks"]["items"]
        assert inner["properties"]["agent"]["enum"] == list(AGENTS)
        assert "agent" not in inner["required"]
    for name in ("subagent", "background_agent"):
        assert TOOLS[name].input_schema["properties"]["agent"]["enum"] == list(AGENTS)
        assert "agent" not in TOOLS[name].input_schema.get("required", ())


async def test_one_call_hands_a_task_to_each_of_three_agents(desk: Workplace) -> None:
    tasks = [
        {"name": "first", "prompt": "One.\n> edit a.py", "agent": "claude"},
        {"name": "second", "prompt": "Two.", "agent": "codex"},
        {"name": "third", "prompt": script(prints(*answer("Three.")))},
    ]
    result = await desk.tool("delegate_to_subagents", tasks=tasks)
    assert not result.is_error
    assert result.structured is not None
    told = [(task["answer"], task.get("agent")) for task in result.structured["tasks"]]
    assert told == [("One.", "claude"), ("Two.", "codex"), ("Three.", None)]
    first, second, third = result.details["windows"]
    assert (first["agent"], first["knowsCost"], first["usage"]["cost"]) == ("claude", True, 0.25)
    assert first["changedFiles"] == [str(desk.project / "a.py")]
    assert (second["agent"], second["knowsCost"], second["contextSize"]) == ("codex", False, 200_000)
    assert not third.keys() & {"agent", "knowsCost", "beginning", "changedFiles"}


async def test_an_agent_that_works_and_says_nothing_is_not_plainly_completed(desk: Workplace) -> None:
    tasks = [{"name": "quiet", "prompt": "> bash ls", "agent": "claude"}]
    result = await desk.tool("delegate_to_subagents", tasks=tasks)
    assert result.text.startswith("✓ quiet: completed without an answer (session: ")
    assert result.structured is not None
    (task,) = result.structured["tasks"]
    output = await desk.tool("get_subagent_output", sessionId=task["sessionId"])
    assert output.text == "(no text output from sub-agent)"


async def test_an_empty_agent_counts_as_left_out(desk: Workplace) -> None:
    task = {"name": "t", "prompt": script(prints(*answer("Done."))), "agent": ""}
    result = await desk.tool("delegate_to_subagents", tasks=[task])
    assert result.text.startswith("✓ t: completed")


async def test_an_agent_that_does_not_exist_fails_its_own_task_and_the_others_run(desk: Workplace) -> None:
    tasks = [{"name": "a", "prompt": "One.", "agent": "claude"}, {"name": "b", "prompt": "x", "agent": "cladue"}]
    result = await desk.tool("delegate_to_subagents", tasks=tasks)
    good, bad = result.text.splitlines()
    assert good.startswith("✓ a: completed")
    assert bad.startswith(f'✗ b: error — Unknown agent: "cladue". Available agents: {", ".join(AGENTS)} (session: ')


@pytest.mark.parametrize(
    "arguments",
    [
        {"preset": "scout", "task": "Found.", "agent": "claude"},
        {"tasks": [{"preset": "scout", "task": "Found.", "agent": "claude"}]},
    ],
)
async def test_a_preset_is_done_by_the_agent_that_the_call_names(desk: Workplace, arguments: dict[str, Any]) -> None:
    result = await desk.tool("subagent", **arguments)
    assert "Found." in result.text, result.text
    (run,) = result.details["runs"]
    assert (run["agent"], run["preset"], run["status"]) == ("claude", "scout", "completed")
    assert "scout • claude • Found." in "".join(text for line in TOOLS["subagent"].display(result) for _, text in line)


async def test_an_agent_alone_is_no_task(desk: Workplace) -> None:
    result = await desk.tool("subagent", agent="claude")
    assert (result.is_error, result.text) == (True, "Invalid arguments: preset is required")


async def test_a_session_of_another_agent_says_so_in_its_details(desk: Workplace) -> None:
    result = await desk.tool("subagent", preset="scout", task="Found.", agent="codex")
    session = result.details["runs"][0]["sessionId"]
    told = await desk.tool("get_subagent_output", sessionId=session)
    assert (told.text, told.details["agent"]) == ("Found.", "codex")


async def test_a_session_goes_on_with_its_agent_unless_another_is_named(desk: Workplace) -> None:
    async def told(**task: str) -> tuple[str, str | None, str | None]:
        result = await desk.tool("delegate_to_subagents", tasks=[{"name": "t", **task}])
        (window,) = result.details["windows"]
        return window["sessionId"], window.get("agent"), window.get("beginning")

    session, *first = await told(prompt="One.", agent="codex")
    assert first == ["codex", "fresh"]
    assert await told(prompt="Two.", resume=session) == (session, "codex", "retold")
    assert await told(prompt="Three.", resume=session, agent="claude") == (session, "claude", "retold")
    pi = script(prints(*answer("Four.")))
    assert (await told(prompt=pi, resume=session, agent="pi"))[1] is None


async def test_a_program_names_the_agent_of_a_task_and_is_told_which_one_did_it(desk: Workplace) -> None:
    tasks = [Task("a", "One.\n> edit a.py", agent="codex"), Task("b", script(prints(*answer("Two."))))]
    other, usual = await Delegation(tasks, place=desk.place)
    assert (other.output, other.agent, other.knows_cost, other.beginning) == ("One.", "codex", False, "fresh")
    assert other.changed_files == (str(desk.project / "a.py"),)
    assert (usual.output, usual.agent, usual.knows_cost) == ("Two.", "pi", True)
