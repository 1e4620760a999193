"""Sessions, profiles and presets as resources, and the example prompts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import mcp_types as types
import pytest
from mcp import MCPError
from mcp.client.subscriptions import ResourcesListChanged

from pi_subagents.models.event import Created
from pi_subagents.runs.sessions import Session
from pi_subagents.store import JOURNAL_FILE
from pi_subagents.surfaces.mcp import resources
from tests.kit.desks import DONE
from tests.kit.sessions import Shelf, says
from tests.process.kit import MODEL, PRESET, tasks
from tests.surfaces.mcp.kit import WAIT_S, Desk, text_in


async def test_a_session_can_be_read_in_every_form(either_desk: Desk) -> None:
    async with either_desk.client() as client:
        delegated = await client.call_tool("delegate_to_subagents", tasks([DONE]))
        session_id = delegated.structured_content["tasks"][0]["sessionId"]
        address = f"subagent://sessions/{session_id}"
        listed = (await client.list_resources()).resources
        assert [str(resource.uri) for resource in listed] == [
            *("subagent://sessions", "subagent://profiles", "subagent://presets"),
            f"{address}/output",
        ]
        assert listed[-1].title == "task 1 (completed)"
        assert text_in(await client.read_resource(f"{address}/output")) == "All is well."
        assert text_in(await client.read_resource(f"{address}/transcript")) == "All is well."
        events = text_in(await client.read_resource(f"{address}/events")).splitlines()
        assert json.loads(events[0])["type"] == Created.__struct_config__.tag
        (row,) = json.loads(text_in(await client.read_resource("subagent://sessions")))
        assert (row["sessionId"], row["status"]) == (session_id, "completed")


def test_of_a_large_journal_the_end_is_read_below_a_line_that_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "_MAX_EVENT_BYTES", 2000)
    shelf = Shelf(tmp_path / "project", tmp_path / "agent")
    kept = shelf.add(*(says(f"message {number}") for number in range(100)))
    text = resources._events(Session(kept.session_id, (kept.run_dir,)))
    note, *events = map(json.loads, text.splitlines())
    journal = (kept.run_dir / JOURNAL_FILE).read_text()
    assert note == {"type": "left_out", "bytes": len(journal) - len(text.partition("\n")[2])}
    assert journal.endswith(text.partition("\n")[2])
    assert len(text) < 2100
    assert events[-1]["type"] == "ended"


async def test_profiles_and_presets_can_be_read(either_desk: Desk) -> None:
    async with either_desk.client() as client:
        profiles = json.loads(text_in(await client.read_resource("subagent://profiles")))
        assert profiles == {"quick": "profile: quick, model=acme/small, custom-system-prompt"}
        preset = json.loads(text_in(await client.read_resource(f"subagent://presets/{PRESET}")))
        assert preset["model"] == MODEL
        templates = (await client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == [
        *(f"subagent://sessions/{{id}}/{part}" for part in ("output", "transcript", "events")),
        *("subagent://profiles/{name}", "subagent://presets/{name}"),
    ]


async def test_what_is_not_there_is_an_error(desk: Desk) -> None:
    async with desk.client() as client:
        for address in (
            "subagent://sessions/0123456789abcdef/output",
            "subagent://sessions/x",
            "subagent://profiles/nobody",
            "subagent://elsewhere",
            "file:///etc/passwd",
            "subagent://sessions/..%2F..%2Fx/events",
        ):
            with pytest.raises(MCPError, match=r"not found|Unknown profile") as raised:
                await client.read_resource(address)
            assert raised.value.error.code == -32002, address


async def test_a_new_session_is_announced(desk: Desk) -> None:
    async with desk.client() as client:
        await client.call_tool("delegate_to_subagents", tasks([DONE]))
        # What the server sends before its answer is there before it.
        assert any(isinstance(message, types.ResourceListChangedNotification) for message in desk.messages)


async def test_a_new_session_is_announced_to_those_who_listen(desk: Desk) -> None:
    desk.era = "2026-07-28"
    async with desk.client() as client, client.listen(resources_list_changed=True) as changes:
        await client.call_tool("delegate_to_subagents", tasks([DONE]))
        async with asyncio.timeout(WAIT_S):
            assert isinstance(await anext(aiter(changes)), ResourcesListChanged)


async def test_the_prompt_templates_are_offered_with_what_they_are_about(either_desk: Desk) -> None:
    async with either_desk.client() as client:
        offered = (await client.list_prompts()).prompts
        assert {prompt.name: [argument.required for argument in prompt.arguments or []] for prompt in offered} == {
            "implement-and-review": [True],
            "review-from-all-sides": [False],
            "scout-and-plan": [True],
        }
        filled = _text(await client.get_prompt("scout-and-plan", {"request": "Make it $@ faster"}))
        assert filled.startswith("Goal: Make it $@ faster\n")
        default = _text(await client.get_prompt("review-from-all-sides"))
        assert default.startswith("Review the changes that are not committed yet.")
        with pytest.raises(MCPError, match='needs the argument "request"'):
            await client.get_prompt("scout-and-plan", {"request": " "})
        with pytest.raises(MCPError, match='Unknown prompt: "nothing"'):
            await client.get_prompt("nothing")


def _text(prompt: types.GetPromptResult) -> str:
    (message,) = prompt.messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text
