"""The first answer comes before the SDK is loaded, and is the one that the SDK would have given."""

from __future__ import annotations

import json
import logging
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from pi_subagents.surfaces.mcp import server
from pi_subagents.surfaces.mcp.handshake import (
    HANDSHAKE_VERSIONS,
    MODERN_VERSIONS,
    Greeting,
    discover_result,
    initialize_result,
    list_tools_result,
)
from pi_subagents.surfaces.mcp.server import SubagentServer
from pi_subagents.tools import TOOLS
from tests.surfaces.mcp.kit import INTRODUCTION, Desk, RawClient, request

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
MODERN: dict[str, Any] = {
    "_meta": {
        VERSION_KEY: "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


def test_the_revisions_with_a_handshake_are_those_of_the_sdk() -> None:
    assert HANDSHAKE_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert MODERN_VERSIONS == MODERN_PROTOCOL_VERSIONS


@pytest.mark.parametrize("version", [*HANDSHAKE_VERSIONS, "1999-01-01", *MODERN_VERSIONS])
async def test_the_answer_to_a_handshake_is_what_the_sdk_answers(version: str) -> None:
    asked = INTRODUCTION | {"protocolVersion": version}
    assert initialize_result(version) == await _sdk_answer(("initialize", asked))


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
@pytest.mark.parametrize("tools", [None, ["subagent"]])
async def test_the_tools_are_listed_as_the_sdk_lists_them(version: str, tools: list[str] | None) -> None:
    asked = INTRODUCTION | {"protocolVersion": version}
    listed = await _sdk_answer(("initialize", asked), ("tools/list", {}), tools=tools)
    assert list_tools_result(tools) == listed


async def test_the_answer_to_a_discovery_is_what_the_sdk_answers() -> None:
    assert discover_result() == await _sdk_answer(("server/discover", MODERN))


async def test_a_fault_of_ours_is_a_result_too_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(server, "call_tool", fail)
    monkeypatch.setattr(logging.getLogger("pi_subagents"), "propagate", True)
    called = ("tools/call", {"name": "list_subagent_profiles", "arguments": {}})
    answer = await _sdk_answer(("initialize", INTRODUCTION), called)
    assert answer["isError"]
    assert answer["content"][0]["text"].endswith("the disk is gone")
    assert "the call of list_subagent_profiles failed" in caplog.text


async def _sdk_answer(*requests: tuple[str, dict[str, Any]], tools: list[str] | None = None) -> dict[str, Any]:
    """What the SDK answers to the last of some requests."""
    to_server, incoming = anyio.create_memory_object_stream[Any](1)
    outgoing, from_server = anyio.create_memory_object_stream[Any](1)
    async with SubagentServer(tools) as served, anyio.create_task_group() as group, to_server, from_server:
        group.start_soon(served.run, incoming, outgoing)
        result: dict[str, Any] = {}
        for number, (method, params) in enumerate(requests):
            asked = types.JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params)
            await to_server.send(SessionMessage(asked))
            answer = (await from_server.receive()).message
            result = json.loads(answer.model_dump_json(by_alias=True, exclude_unset=True))["result"]
        group.cancel_scope.cancel()
    return result


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"a": ' + b"[" * 100_000,
        request(method="tools/list"),
        request(method="tools/call"),
        request(method="server/discover"),
        request(method="server/discover", params={"_meta": MODERN["_meta"] | {VERSION_KEY: "2031-01-01"}}),
        request(jsonrpc="1.0"),
        request(id=None),
        request(params={"protocolVersion": "2025-06-18"}),
        request(params=None),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
    ],
)
def test_whatever_else_a_client_begins_with_is_left_to_the_sdk(line: bytes) -> None:
    assert Greeting().answer(line) is None


def test_what_is_answered_early_is_answered_once(desk: Desk) -> None:
    initialized = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    requests = [request(id=1), initialized, request(id="2", method="tools/list"), request(id=3, method="ping")]
    answers = _answers(desk, requests)
    assert [answer["id"] for answer in answers] == [1, "2", 3]
    assert [tool["name"] for tool in answers[1]["result"]["tools"]] == list(TOOLS)


def test_what_the_sdk_refuses_was_answered_all_the_same(desk: Desk) -> None:
    parameters = INTRODUCTION | {"capabilities": {"roots": 5}}
    refused = [request(id=1, params=parameters), request(id=2, method="ping")]
    answers = _answers(desk, refused, [request(id=1, method="ping")])
    assert [answer["id"] for answer in answers] == [1, 2, 1]
    assert all("result" in answer for answer in answers)


def _answers(desk: Desk, *batches: list[bytes]) -> list[dict[str, Any]]:
    """One answer to each request, and no more; every batch is sent when those before it are answered."""
    with RawClient(desk) as client:
        for batch in batches:
            client.write(b"".join(line + b"\n" for line in batch))
            # Hanging up before the last answer would be taking back the question.
            for line in batch:
                assert b'"id"' not in line or client.next()
    assert client.next() is None
    return client.said


def test_a_text_is_an_id_too() -> None:
    answer = Greeting().answer(request(id="seven"))
    assert answer is not None
    assert answer.endswith(b"\n")
    assert json.loads(answer)["id"] == "seven"


def test_nothing_that_is_needed_for_it_loads_the_sdk(desk: Desk) -> None:
    answer, loaded = desk.first_answer(request())
    assert answer["serverInfo"]["name"] == "pi-subagents"
    unwanted = {"mcp", "mcp_types", "pydantic", "rich", "asyncio", "pi_subagents.tools"}
    assert unwanted & loaded == set()
