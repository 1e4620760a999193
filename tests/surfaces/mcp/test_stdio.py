"""The tools through a real client over standard input and output."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from pi_subagents.offline import Say, Script
from pi_subagents.store import load_run
from pi_subagents.testing import prints, script
from pi_subagents.testing.agent import complains, exits, leaves_behind, pauses, touches, waits_for
from pi_subagents.testing.records import AGENT_START, answer
from pi_subagents.tools import TOOLS
from tests.kit.desks import DONE
from tests.kit.waiting import until_async
from tests.pi.stage import Play
from tests.process.kit import PRESET, tasks
from tests.surfaces.mcp.kit import WAIT_S, Desk, text_in, text_of

FOREVER = pauses(300)


async def test_the_tools_are_offered_as_they_are_defined(either_desk: Desk) -> None:
    async with either_desk.client() as client:
        offered = (await client.list_tools()).tools
    assert [(tool.name, tool.description, tool.input_schema) for tool in offered] == [
        (tool.name, tool.description, tool.input_schema) for tool in TOOLS.values()
    ]


async def test_every_tool_answers_in_text_and_in_structure(either_desk: Desk) -> None:
    # The client checks the structure against the output schema.
    async with either_desk.client() as client:
        delegated = await client.call_tool("delegate_to_subagents", tasks([DONE], profile="quick"))
        (task,) = delegated.structured_content["tasks"]
        session_id = task["sessionId"]
        assert text_of(delegated) == (
            f"✓ task 1: completed (session: {session_id}) (profile: quick, model=acme/small, custom-system-prompt)"
        )
        output = await client.call_tool("get_subagent_output", {"sessionId": session_id})
        assert text_of(output) == output.structured_content["text"] == "All is well."
        transcript = await client.call_tool("get_subagent_session", {"sessionId": session_id})
        assert "All is well." in transcript.structured_content["text"] == text_of(transcript)
        profiles = await client.call_tool("list_subagent_profiles", {})
        assert list(profiles.structured_content["profiles"]) == ["quick"]
        single = await client.call_tool("subagent", {"preset": PRESET, "task": script(DONE)})
        assert text_of(single) == "All is well."
        started = await client.call_tool(
            "background_agent", {"preset": PRESET, "task": script(prints(AGENT_START), DONE)}
        )
        asked = {"runId": started.structured_content["run"]["runId"], "wait_s": WAIT_S}
        status = await client.call_tool("background_agent_status", asked)
        assert "All is well." in text_of(status)
        assert status.structured_content["runs"][0]["finalText"] == "All is well."
        assert status.structured_content["counts"]["completed"] == 1


async def test_three_tiny_tasks_are_told_in_few_bytes_with_their_answers(desk: Desk) -> None:
    async with desk.client() as client:
        result = await client.call_tool("delegate_to_subagents", tasks([DONE], [DONE], [DONE]))
    told = result.structured_content
    assert [task.pop("answer") for task in told["tasks"]] == ["All is well."] * 3
    assert len(json.dumps(told).encode()) <= 700


async def test_the_structure_of_a_call_has_long_answers_errors_and_warnings(desk: Desk) -> None:
    settings = Path(desk.environ["PI_AGENT_DIR"]) / "settings.json"
    settings.write_text('{"subagents": {"maxLinesPerWindow": "many"}}')
    asked = tasks([prints(*answer("x" * 2000 + "y" * 1234))], [complains("no such thing"), exits(3)])
    presets = [{"preset": PRESET, "task": task["prompt"]} for task in asked["tasks"]]
    async with desk.client() as client:
        delegated = await client.call_tool("delegate_to_subagents", asked)
        several = await client.call_tool("subagent", {"tasks": presets})
    for result, name, word in ((delegated, "task {}", "error"), (several, PRESET, "failed")):
        (warning,) = result.structured_content["warnings"]
        assert "maxLinesPerWindow" in warning
        long, failed = result.structured_content["tasks"]
        where = f'call get_subagent_output with sessionId "{long["sessionId"]}"'
        assert long["answer"] == f"{'x' * 2000}… [cut, 1,234 more characters: {where}]"
        assert (long["name"], long["status"], long["error"]) == (name.format(1), "completed", None)
        assert (failed["name"], failed["status"], failed["answer"]) == (name.format(2), word, None)
        assert "no such thing" in failed["error"]


async def test_what_is_wrong_with_a_call_is_a_result_that_the_model_can_read(either_desk: Desk) -> None:
    calls: dict[str, dict[str, Any]] = {
        "delegate_to_subagents": {"tasks": []},
        "get_subagent_output": {"sessionId": "0123456789abcdef"},
        "subagent": {"preset": "nobody", "task": "Work."},
        "delegate_to_subagent": {},
    }
    async with either_desk.client() as client:
        results = [await client.session.call_tool(name, arguments) for name, arguments in calls.items()]
    assert [result.is_error for result in results] == [True] * 4
    wrong, unknown_session, unknown_preset, unknown_tool = map(text_of, results)
    assert "tasks" in wrong
    assert unknown_session.startswith('Session "0123456789abcdef" not found')
    assert PRESET in unknown_preset
    assert 'Did you mean "delegate_to_subagents"?' in unknown_tool


async def test_a_subset_of_the_tools_can_be_served(desk: Desk) -> None:
    async with desk.client("--tools", "subagent, get_subagent_output") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["subagent", "get_subagent_output"]
        refused = await client.session.call_tool("list_subagent_profiles", {})
    assert refused.is_error
    assert text_of(refused) == (
        '"list_subagent_profiles" is not served here. Available tools: subagent, get_subagent_output'
    )


async def test_a_long_call_says_in_words_what_its_agents_do(either_desk: Desk, tmp_path: Path) -> None:
    started = {"type": "tool_execution_start", "toolCallId": "1", "toolName": "read", "args": {"path": "src/app.py"}}
    work = [prints(AGENT_START, started), waits_for(tmp_path / "go on"), DONE]
    said: list[tuple[float, str | None]] = []
    heard = asyncio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        said.append((progress, message))
        heard.set()

    async with either_desk.client() as client:
        call = asyncio.create_task(
            client.call_tool("delegate_to_subagents", tasks(work, work), progress_callback=on_progress)
        )
        while not any(message and "Reading src/app.py" in message for _, message in said):
            await asyncio.wait_for(heard.wait(), WAIT_S)
            heard.clear()
        (tmp_path / "go on").touch()
        await call
    assert {message for _, message in said} & {f"[0/2 done] task {n}: Reading src/app.py" for n in (1, 2)}
    moments = [moment for moment, _ in said]
    assert moments == sorted(set(moments)), "progress must grow"
    assert all(later - earlier > 0.2 for earlier, later in pairwise(moments))


async def test_a_cancelled_call_stops_its_agents_and_the_next_one_works(either_desk: Desk, tmp_path: Path) -> None:
    work = [leaves_behind(daemon=True), touches(tmp_path / "ready"), FOREVER]
    async with either_desk.client() as client:
        call = asyncio.create_task(client.call_tool("delegate_to_subagents", tasks(work)))
        await until_async((tmp_path / "ready").exists)
        call.cancel()
        await asyncio.wait([call])
        await until_async(lambda: not either_desk.agents())
        (run_dir,) = either_desk.stage.run_dirs
        # Its end is recorded a moment after the last of its processes is gone.
        await until_async(lambda: load_run(run_dir).status.is_terminal)
        assert '"aborted"' in text_in(await client.read_resource("subagent://sessions"))
        assert not (await client.call_tool("delegate_to_subagents", tasks([DONE]))).is_error


async def test_twenty_calls_at_once_all_get_their_own_answer(either_desk: Desk) -> None:
    async with either_desk.client() as client:
        delegated = await client.call_tool("delegate_to_subagents", tasks([DONE], [prints(*answer("Other."))]))
        ids = [task["sessionId"] for task in delegated.structured_content["tasks"]]
        calls = [client.call_tool("get_subagent_output", {"sessionId": ids[n % 2]}) for n in range(20)]
        texts = [text_of(result) for result in await asyncio.gather(*calls)]
    assert texts == ["All is well.", "Other."] * 10


async def test_a_client_that_hangs_up_stops_its_runs_and_leaves_those_in_the_background(
    desk: Desk, tmp_path: Path
) -> None:
    here = [touches(tmp_path / "here"), FOREVER]
    there = [prints(AGENT_START), touches(tmp_path / "there"), waits_for(tmp_path / "go on"), DONE]
    async with desk.client() as client:
        started = await client.call_tool("background_agent", {"preset": PRESET, "task": script(*there)})
        call = asyncio.create_task(client.call_tool("delegate_to_subagents", tasks(here)))
        await until_async(lambda: (tmp_path / "here").exists() and (tmp_path / "there").exists())
    await asyncio.wait([call])
    async with desk.client() as client:
        run_id = started.structured_content["run"]["runId"]
        status = await client.call_tool("background_agent_status", {"runId": run_id})
        assert status.structured_content["runs"][0]["status"] == "running"
        assert '"aborted"' in text_in(await client.read_resource("subagent://sessions"))
        (tmp_path / "go on").touch()
        status = await client.call_tool("background_agent_status", {"runId": run_id, "wait_s": WAIT_S})
        assert status.structured_content["runs"][0]["status"] == "completed"


@pytest.mark.parametrize("has_root", [True, False])
async def test_the_first_root_that_a_client_offers_is_where_it_works(
    desk: Desk, tmp_path: Path, has_root: bool
) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()

    async def roots(_context: Any) -> types.ListRootsResult:
        found = [tmp_path / "gone", tmp_path / ("long" * 100), desk.stage.project] if has_root else []
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": folder.as_uri()}) for folder in found])

    async with desk.client(cwd=elsewhere, list_roots_callback=roots) as client:
        result = await client.call_tool("list_subagent_profiles", {})
    assert result.structured_content["count"] == (1 if has_root else 0)


async def test_the_real_pi_works_for_a_client(play: Play) -> None:
    stage = play(Script().otherwise([Say("Four.")]))
    desk = Desk(stage)
    async with desk.client() as client:
        result = await client.call_tool(
            "delegate_to_subagents", {"tasks": [{"name": "sum", "prompt": "How much is two and two?"}]}
        )
    assert [task["answer"] for task in result.structured_content["tasks"]] == ["Four."]
    assert "How much is two and two?" in stage.model.requests[0].last_user_text
