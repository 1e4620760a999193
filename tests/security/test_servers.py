"""The tools over MCP, from a client that was started in a stranger's project; and the server over HTTP."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pi_subagents.tools import TOOLS
from tests.kit.waiting import PATIENCE_S
from tests.security.commands import CALLS, MCP_INITIALIZE
from tests.security.kit import PRIVATE, Done, Victim
from tests.security.projects import PROJECTS
from tests.security.records import FOREIGN, ODD, many
from tests.security.things import GIT, NEIGHBOUR, NEIGHBOUR_SESSION


def conversation(*requests: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What a client says: the greeting, then the requests."""
    numbered = [
        {"id": number, "method": method, "params": params} for number, (method, params) in enumerate(requests, 2)
    ]
    greeting: dict[str, Any] = {"id": 1, "method": "initialize", "params": MCP_INITIALIZE}
    return [greeting, {"method": "notifications/initialized"}, *numbered]


def calls() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every tool there is, called."""
    for name in TOOLS:
        arguments = json.dumps(CALLS[name][0]).replace("{session}", NEIGHBOUR_SESSION)
        yield "tools/call", {"name": name, "arguments": json.loads(arguments)}


@pytest.mark.parametrize("name", ["commanding", "linked files", "linked runs"])
def test_no_tool_does_over_mcp_what_a_strangers_project_wants(name: str, victim: Victim) -> None:
    project = next(project for project in PROJECTS if project.name == name)
    victim.receives(project.table)
    if project.has_records:
        victim.has_run_before()
    victim.arm()
    said = victim.converse("mcp", conversation(*calls(), ("resources/list", {}), ("prompts/list", {})))
    victim.until_alone()
    assert victim.damage() == []
    assert PRIVATE not in json.dumps(said)


def test_records_of_strangers_are_offered_to_a_client_without_harm(victim: Victim) -> None:
    victim.receives({**GIT, **many((*FOREIGN, *ODD))})
    victim.has_run_before()
    foreign = [path for path in victim.runs.iterdir() if f"T{len(FOREIGN):06d}" > path.name[8:15]]
    victim.arm(*foreign, victim.runs / NEIGHBOUR)
    requests: list[tuple[str, dict[str, Any]]] = [
        ("resources/list", {}),
        ("resources/read", {"uri": "subagent://sessions"}),
    ]
    for path in sorted(victim.runs.iterdir()):
        asked = {"name": "get_subagent_output", "arguments": {"sessionId": path.name.rpartition("-")[2]}}
        requests.append(("tools/call", asked))
    said = victim.converse("mcp", conversation(*requests))
    victim.is_unharmed_by(Done(("mcp",), 0, json.dumps(said).encode(), b""))
    assert "Well done." in json.dumps(said)


# --- over HTTP --------------------------------------------------------------


@contextmanager
def serving(victim: Victim, *options: str) -> Iterator[tuple[str, int]]:
    """The server; its host and port."""
    with victim.begin("mcp", "--http", "127.0.0.1:0", *options, stdout=subprocess.DEVNULL) as server:
        try:
            assert server.stderr is not None
            said = b""
            while not (found := re.search(rb"http://([\d.]+):(\d+)", said)):
                line = server.stderr.readline()
                assert line, f"it does not serve: {said!r}"
                said += line
            yield found[1].decode(), int(found[2])
        finally:
            server.terminate()


def ask(where: tuple[str, int], **headers: str) -> int:
    """Greet the server; the status of its answer."""
    connection = http.client.HTTPConnection(*where, timeout=PATIENCE_S)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": MCP_INITIALIZE})
    accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection.request(
        "POST", "/mcp", body, accepted | {name.replace("_", "-"): value for name, value in headers.items()}
    )
    status = connection.getresponse().status
    connection.close()
    return status


def test_over_http_nobody_is_served_without_the_token_that_was_stored_for_them_alone(victim: Victim) -> None:
    victim.receives(GIT)
    with serving(victim) as where:
        assert ask(where) in (401, 403)
        assert ask(where, Authorization="Bearer ") in (401, 403)
        assert ask(where, Authorization="Bearer wrong") in (401, 403)
        stored = [path for path in victim.agent_dir.rglob("*token*") if path.is_file()]
        assert [oct(path.stat().st_mode & 0o777) for path in stored] == ["0o600"]
        token = stored[0].read_text().strip().splitlines()[-1]
        assert ask(where, Authorization=f"Bearer {token}") == 200


@pytest.mark.parametrize(
    "header", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Host": "127.0.0.1.evil.example"}]
)
def test_a_web_page_does_not_reach_the_server_of_its_reader(header: dict[str, str], victim: Victim) -> None:
    victim.receives(GIT)
    with serving(victim, "--no-token") as where:
        assert ask(where) == 200
        assert ask(where, **header) in (400, 401, 403, 421)
