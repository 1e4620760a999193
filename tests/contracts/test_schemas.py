"""What the schemas say is what is enforced: a call that the one refuses is refused by the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from pi_subagents.place import Place
from pi_subagents.tools import TOOLS, ToolContext, call_tool

TASK = {"name": "a", "prompt": "b"}
RUN = {"preset": "a", "task": "b"}
CHAINS: list[Any] = [None, [], {}, "", False, [RUN]]

WRONG: list[tuple[str, dict[str, Any]]] = [
    *((name, {"surprise": 1}) for name in TOOLS),
    ("delegate_to_subagents", {"tasks": [TASK], "surprise": 1}),
    ("delegate_to_subagents", {"tasks": [{**TASK, "surprise": 1}]}),
    ("delegate_to_subagents", {"tasks": [{**TASK, "files": [{"path": "a", "surprise": 1}]}]}),
    ("delegate_to_subagents", {"tasks": [{**TASK, "files": [{"path": ""}]}]}),
    ("delegate_to_subagents", {"tasks": [{**TASK, "name": ""}]}),
    ("delegate_to_subagents", {"tasks": [{**TASK, "prompt": ""}]}),
    ("delegate_to_subagents", {"tasks": [{**TASK, "timeout": 0}]}),
    ("delegate_to_subagents", {"tasks": []}),
    ("delegate_to_subagents", {"tasks": [TASK] * 17}),
    ("get_subagent_output", {"sessionId": ""}),
    ("get_subagent_session", {"sessionId": ""}),
    ("subagent", {"tasks": [{**RUN, "preset": ""}]}),
    ("subagent", {"tasks": [{**RUN, "task": ""}]}),
    ("subagent", {"tasks": [{**RUN, "surprise": 1}]}),
    ("subagent", {"tasks": [RUN] * 17}),
    *(("subagent", {**RUN, "chain": chain}) for chain in CHAINS),
    ("background_agent", {**RUN, "preset": ""}),
    ("background_agent", {**RUN, "task": ""}),
    ("background_agent", {**RUN, "surprise": 1}),
    ("background_agent_status", {"wait_s": -1}),
    ("background_agent_status", {"wait_s": 1_000_000}),
]


@pytest.mark.parametrize(("name", "arguments"), WRONG, ids=str)
async def test_what_the_schema_forbids_is_refused(name: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    assert not Draft202012Validator(TOOLS[name].input_schema).is_valid(arguments)
    place = Place.here(tmp_path, {"PI_AGENT_DIR": str(tmp_path / "agent")})
    result = await call_tool(name, arguments, ToolContext(place))
    assert result.is_error
    assert result.text.startswith(("Invalid arguments: ", 'There is no "chain"'))


@pytest.mark.parametrize("name", TOOLS)
def test_every_object_in_a_schema_is_closed(name: str) -> None:
    assert list(_open_objects(TOOLS[name].input_schema)) == []


def _open_objects(schema: Any) -> list[Any]:
    if isinstance(schema, list):
        return [found for value in schema for found in _open_objects(value)]
    if not isinstance(schema, dict):
        return []
    is_open = schema.get("type") == "object" and schema.get("additionalProperties") is not False
    return [schema] * is_open + _open_objects(list(schema.values()))
