"""What the users of other agents get: their model delegates through our MCP server and reads the answer."""

from __future__ import annotations

import json
import re

import pytest

from pi_subagents.offline import Call, Hang, Request, Say, Script
from tests.hosts.host import HOSTS, call_tool, offers_tool, start_host
from tests.kit.waiting import until
from tests.pi.stage import WAIT_S, Play

PROMPT = "Let somebody look for the well."
TASK = "Find the well in the garden."

each_host = pytest.mark.parametrize(
    "host",
    [
        pytest.param(
            host.name,
            marks=pytest.mark.skipif(not host.program, reason=f"{host.pin} could not be installed from npm"),
        )
        for host in HOSTS
    ],
)


def delegate(request: Request) -> Call:
    return call_tool(request, {"tasks": [{"name": "scout", "prompt": TASK}]})


def quote(request: Request) -> Say:
    return Say(f"The tool said: {request.tool_results[-1].text}")


def test_at_least_one_host_is_here() -> None:
    assert any(host.program for host in HOSTS), "run ./scripts/setup; .venv/setup.log says why none could be installed"


@each_host
def test_the_model_of_a_host_delegates_and_reads_the_answer(play: Play, host: str) -> None:
    stage = play(Script().when(offers_tool, [delegate, quote]).when(TASK, [Say("It is under the oak.")]))
    with start_host(host, PROMPT, stage) as process:
        answer, errors = process.communicate(timeout=WAIT_S)
    told = re.search(r"The tool said: .*?({.*})", answer, re.DOTALL)
    assert told, answer + errors
    (task,) = json.loads(told[1])["tasks"]
    assert (task["name"], task["status"], task["answer"]) == ("scout", "completed", "It is under the oak.")
    (asked,) = [request for request in stage.model.requests if not offers_tool(request)]
    assert TASK in asked.first_user_text
    until(lambda: not stage.processes())


@each_host
def test_nothing_is_left_of_a_host_that_is_killed_while_its_sub_agent_works(play: Play, host: str) -> None:
    stage = play(Script().when(offers_tool, [delegate]).when(TASK, [Hang()]))
    with start_host(host, PROMPT, stage) as process:
        until(lambda: any(TASK in request.first_user_text for request in stage.model.requests))
        assert stage.processes()
        process.kill()
    until(lambda: not stage.processes())
