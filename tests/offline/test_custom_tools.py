"""Tools that take a text instead of arguments, as Codex has one for patches."""

from __future__ import annotations

import json
from typing import Any

from pi_subagents.offline import Call, OfflineModel, Script, ToolResult
from tests.offline.client import connect, receive
from tests.offline.dialects import RESPONSES, events_in

PATCH = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n"
TOOLS = [{"type": "custom", "name": "apply_patch"}, {"type": "function", "name": "ls"}]


def ask(script: Script, items: list[Any]) -> tuple[list[Any], OfflineModel]:
    with OfflineModel(script) as model, connect(model) as connection:
        body = {"model": "scripted", "stream": True, "tools": TOOLS, "input": items}
        connection.request("POST", RESPONSES.path, json.dumps(body))
        return events_in(receive(connection).body), model


def test_a_call_of_such_a_tool_is_sent_as_its_text() -> None:
    events, model = ask(Script().otherwise([Call("apply_patch", {"input": PATCH})]), [])
    assert model.requests[0].tools == ("apply_patch", "ls")
    (done,) = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert (done["type"], done["name"], done["input"]) == ("custom_tool_call", "apply_patch", PATCH)
    pieces = [event["delta"] for event in events if event["type"] == "response.custom_tool_call_input.delta"]
    assert "".join(pieces) == PATCH


def test_its_answer_is_the_result_of_a_tool() -> None:
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": PATCH}
    answer = {"type": "custom_tool_call_output", "call_id": "c1", "output": "Success."}
    _, model = ask(Script(), [{"role": "user", "content": "patch"}, call, answer])
    assert model.requests[0].tool_results == (ToolResult("c1", "apply_patch", {"input": PATCH}, "Success."),)
    assert model.requests[0].step == 1
