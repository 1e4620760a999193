"""Clients that come back for a result get a task, which is a background run and outlives the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

from pi_subagents.store import load_run
from pi_subagents.surfaces.mcp.handshake import TASKS_EXTENSION
from pi_subagents.testing import prints, script
from pi_subagents.testing.agent import pauses, touches, waits_for
from pi_subagents.testing.records import AGENT_START, answer
from tests.kit.desks import DONE
from tests.kit.waiting import until_async
from tests.process.kit import PRESET, tasks
from tests.surfaces.mcp.kit import WAIT_S, Desk, text_of

BEGIN = prints(AGENT_START)


class _Created(types.Result):
    result_type: Literal["task"]
    task_id: str
    status: str
    status_message: str
    poll_interval_ms: int
    ttl_ms: int | None


class TaskParameters(types.RequestParams):
    task_id: str


class TaskRequest(types.Request[TaskParameters, str]):
    method: str
    params: TaskParameters


class TaskState(types.Result):
    task_id: str | None = None
    status: str | None = None
    status_message: str | None = None
    result: dict[str, Any] | None = None


class TasksClient(ClientExtension):
    """Remembers the tasks that it was given; polls them to the end if it is told to wait."""

    identifier = TASKS_EXTENSION

    def __init__(self) -> None:
        self.created: list[_Created] = []
        self.waits = True

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=_Created, resolve=self._resolve)]

    async def _resolve(self, created: _Created, context: ClaimContext) -> types.CallToolResult:
        self.created.append(created)
        if not self.waits:
            return types.CallToolResult(content=[], is_error=True)
        state = await until_over(context.session, created.task_id)
        return types.CallToolResult.model_validate(state.result or {"content": []})


async def ask(session: Any, method: str, task_id: str) -> TaskState:
    """One of the methods of the extension."""
    request = TaskRequest(method=method, params=TaskParameters(task_id=task_id))
    state: TaskState = await session.send_request(request, TaskState)
    return state


async def until_over(session: Any, task_id: str) -> TaskState:
    """The task once it is over."""
    async with asyncio.timeout(WAIT_S):
        while True:
            state = await ask(session, "tasks/get", task_id)
            if state.status != "working":
                return state
            await asyncio.sleep(0.1)


@pytest.fixture
def modern(desk: Desk) -> Desk:
    """Tasks are an extension of the revisions without a handshake."""
    desk.era = "2026-07-28"
    return desk


@asynccontextmanager
async def tasks_client(desk: Desk) -> AsyncIterator[tuple[Client, TasksClient]]:
    extension = TasksClient()
    async with desk.client(extensions=[extension]) as client:
        yield client, extension


async def test_a_task_ends_with_what_the_call_would_have_answered(modern: Desk) -> None:
    one, other = [BEGIN, DONE], [BEGIN, prints(*answer("Other."))]
    async with tasks_client(modern) as (client, extension):
        delegated = await client.call_tool("delegate_to_subagents", tasks(one, other, profile="quick"))
        single = await client.call_tool("subagent", {"preset": PRESET, "task": script(*one)})
        several = await client.call_tool("subagent", {"tasks": [{"preset": PRESET, "task": script(*one)}]})
        profiles = await client.call_tool("list_subagent_profiles", {})
    assert len(extension.created) == 3, "a call that does not wait for agents is answered at once"
    assert text_of(profiles).startswith("profile: quick")
    created = extension.created[0]
    assert (created.status, created.ttl_ms, created.poll_interval_ms) == ("working", None, 1000)
    lines = text_of(delegated).splitlines()
    assert [line.split(" (session")[0] for line in lines] == ["✓ task 1: completed", "✓ task 2: completed"]
    assert lines[0].endswith("(profile: quick, model=acme/small, custom-system-prompt)")
    told = delegated.structured_content["tasks"]
    assert [(task["name"], task["status"], task["answer"]) for task in told] == [
        ("task 1", "completed", "All is well."),
        ("task 2", "completed", "Other."),
    ]
    assert all(f"(session: {task['sessionId']})" in line for task, line in zip(told, lines, strict=True))
    assert text_of(single) == "All is well."
    assert [task["answer"] for task in single.structured_content["tasks"]] == ["All is well."]
    assert text_of(several).endswith(f"## 1. {PRESET}\n\nAll is well.")
    assert {load_run(folder).background for folder in modern.stage.run_dirs} == {True}


async def test_a_task_goes_on_without_its_client_and_another_server_knows_it(modern: Desk, tmp_path: Path) -> None:
    work = [BEGIN, touches(tmp_path / "begun"), waits_for(tmp_path / "go on"), DONE]
    async with tasks_client(modern) as (client, extension):
        extension.waits = False
        await client.call_tool("delegate_to_subagents", tasks(work, [BEGIN, DONE]))
        await until_async((tmp_path / "begun").exists)
    (created,) = extension.created
    async with tasks_client(modern) as (client, _):
        state = await ask(client.session, "tasks/get", created.task_id)
        assert state.status == "working"
        assert state.status_message in ("0 of 2 sub-agents are done", "1 of 2 sub-agents are done")
        assert (await ask(client.session, "tasks/update", created.task_id)).status is None
        (tmp_path / "go on").touch()
        state = await until_over(client.session, created.task_id)
        assert state.status == "completed"
        assert state.result is not None
        assert [task["status"] for task in state.result["structuredContent"]["tasks"]] == ["completed"] * 2


async def test_a_cancelled_task_stops_its_agents(modern: Desk, tmp_path: Path) -> None:
    work = [BEGIN, touches(tmp_path / "begun"), pauses(300)]
    async with tasks_client(modern) as (client, extension):
        extension.waits = False
        await client.call_tool("subagent", {"preset": PRESET, "task": script(*work)})
        await until_async((tmp_path / "begun").exists)
        (created,) = extension.created
        await ask(client.session, "tasks/cancel", created.task_id)
        state = await until_over(client.session, created.task_id)
        assert state.status == "cancelled"
        await until_async(lambda: not modern.agents())


async def test_a_wrong_call_is_answered_at_once_and_a_wrong_id_is_an_error(modern: Desk) -> None:
    async with tasks_client(modern) as (client, extension):
        wrong = await client.call_tool("delegate_to_subagents", {"tasks": []})
        assert wrong.is_error
        assert extension.created == []
        for task_id in ("nothing", "delegate", "delegate.20260101T000000000-0123456789abcdef", "x.y"):
            with pytest.raises(MCPError, match="Unknown task"):
                await ask(client.session, "tasks/get", task_id)


async def test_a_client_that_does_not_know_tasks_gets_none(modern: Desk) -> None:
    async with modern.client() as client:
        result = await client.call_tool("delegate_to_subagents", tasks([DONE]))
        assert text_of(result).startswith("✓ task 1: completed")
        with pytest.raises(MCPError, match="Missing required client capability"):
            await ask(client.session, "tasks/get", "delegate.x")
