"""What the schemas say is so: a call that they forbid is refused, and results are what they promise, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from pi_subagents.place import Place
from pi_subagents.testing import MODELS_VARIABLE, answer, prints, script
from pi_subagents.tools import TOOLS, ToolContext, call_tool
from tests.kit.waiting import PATIENCE_S
from tests.kit.workplace import Workplace

TASK = {"name": "a", "prompt": "b"}
RUN = {"preset": "a", "task": "b"}
WELL = script(prints(*answer("Well.")))
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


UNTOLD = {
    "background_agent": {f"run.{name}" for name in ("cwd", "requestedModel", "resolvedModel")}
    | {f"run.{name}" for name in ("createdAt", "startedAt", "completedAt", "queued")},
    "background_agent_status": {f"runs.{name}" for name in ("cwd", "requestedModel", "resolvedModel")}
    | {f"runs.{name}" for name in ("createdAt", "startedAt", "completedAt", "reason")},
    "get_subagent_session": {"exitCode", "model"},
}
"""What results have besides: models understand it without a schema, which would have to be paid for."""
LATER = {
    "background_agent": {"run.error", "run.finalText"},
    "delegate_to_subagents": {"tasks.agent"},
    "subagent": {"tasks.agent"},
}
"""What a run that has just begun does not have yet, and what is only told of agents other than `pi`."""


async def test_results_have_the_fields_that_the_schemas_tell_of_and_no_others(tmp_path: Path) -> None:
    desk = Workplace(tmp_path, {MODELS_VARIABLE: "acme/large"})
    desk.write_preset("scout", "model: acme/large")
    desk.write_settings(maxLinesPerWindow="many")
    desk.write(".pi/agent-profiles/broken.md", "---\nname: [\n---\n")
    seen: dict[str, set[str]] = {}

    async def call(name: str, **arguments: Any) -> Any:
        content = (await desk.tool(name, **arguments)).structured
        Draft202012Validator(TOOLS[name].output_schema).validate(content)
        seen[name] = set(_fields_of(TOOLS[name].output_schema, content))
        return content

    delegated = await call("delegate_to_subagents", tasks=[{"name": "a", "prompt": WELL}])
    for name in ("get_subagent_output", "get_subagent_session"):
        await call(name, sessionId=delegated["tasks"][0]["sessionId"])
    await call("list_subagent_profiles")
    await call("subagent", preset="scout", task=WELL)
    launched = await call("background_agent", preset="scout", task=WELL)
    await call("background_agent_status", runId=launched["run"]["runId"], wait_s=PATIENCE_S)
    assert set(seen) == set(TOOLS)
    for name, fields in seen.items():
        told = set(_fields_in(TOOLS[name].output_schema))
        assert fields - told <= UNTOLD.get(name, set()), name
        assert told - fields <= LATER.get(name, set()), name


def _fields_in(schema: Any, prefix: str = "") -> Iterator[str]:
    """The names of all fields that a schema tells of, with those of the objects that they are in."""
    for name, field in schema.get("properties", {}).items():
        yield prefix + name
        yield from _fields_in(field.get("items", field), f"{prefix}{name}.")


def _fields_of(schema: Any, value: Any, prefix: str = "") -> Iterator[str]:
    """The same of a value; what is named by its user, such as a profile, is not a field."""
    if "additionalProperties" in schema or not isinstance(value, dict):
        return
    for name, inner in value.items():
        yield prefix + name
        field = schema.get("properties", {}).get(name, {})
        for each in inner if isinstance(inner, list) else [inner]:
            yield from _fields_of(field.get("items", field), each, f"{prefix}{name}.")
