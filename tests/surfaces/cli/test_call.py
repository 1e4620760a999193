"""`call` and `tools`, as a program sees them: one JSON document on stdout, and an exit code."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.offline import Call, Say, Script
from tests.kit.waiting import until
from tests.pi.stage import WAIT_S, Play, processes_below
from tests.surfaces.cli.stand_in import use_stand_in

ONE_TASK = json.dumps({"tasks": [{"name": "t", "prompt": "Go."}]})


def the_document(stdout: str) -> dict[str, Any]:
    """Fails unless stdout is one JSON object and nothing else."""
    document: dict[str, Any] = json.loads(stdout)
    assert list(document) == ["content", "details", "isError"]
    return document


def test_stdout_carries_one_json_object_and_nothing_else_however_talkative_everybody_is(play: Play) -> None:
    stage = play(Script().otherwise([Call("bash", {"command": "echo noise; echo noise >&2"}), Say("Done.")]))
    stage.write_settings(maxLinesPerWindow="many")
    done = stage.command("-vv", "call", "delegate_to_subagents", "-", stdin=ONE_TASK)
    document = the_document(done.stdout)
    (session,) = document["details"]["sessionIds"]
    (content,) = document["content"]
    assert content["type"] == "text"
    (warning,) = document["details"]["warnings"]
    assert "settings.json:1: subagents.maxLinesPerWindow must be a number" in warning
    assert warning in done.stderr
    assert content["text"] == f"✓ t: completed (session: {session})"
    assert (document["isError"], done.returncode) == (False, 0)
    assert document["details"]["windows"][0]["lines"][-1] == {"text": "Done.", "kind": "text"}


def test_a_restriction_without_a_value_is_warned_of_by_whoever_runs_without_it(play: Play) -> None:
    stage = play(Script())
    use_stand_in(stage)
    stage.write_profile("open", "noTools:")
    task = {"name": "t", "prompt": "hello", "profile": "open"}
    called = stage.command("call", "delegate_to_subagents", json.dumps({"tasks": [task, task]}))
    (warning,) = the_document(called.stdout)["details"]["warnings"]
    assert "open.md:3: " in warning
    assert "noTools" in warning
    for command in (called, stage.command("run", "-p", "open", "hello")):
        assert command.stderr.count(warning) == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("delegate_to_subagents", "{}", "Invalid arguments: tasks is required"),
        ("delegate_to_subagents", '{"tasks": []}', "Invalid arguments: tasks: "),
        ("delegate_to_subagents", '{"tasks": [{"name": "t"}]}', "Invalid arguments: tasks[0].prompt is required"),
        ("delegate_to_subagents", '{"tasks": ', "The arguments are not valid JSON: "),
        ("delegate_to_subagent", "{}", 'Did you mean "delegate_to_subagents"?'),
        ("list_subagent_profiles", '{"x": 1}', "Invalid arguments: x is not a known field"),
    ],
)
def test_a_call_that_is_wrong_is_an_error_in_the_same_form(play: Play, tool: str, arguments: str, says: str) -> None:
    done = play(Script()).command("call", tool, arguments)
    document = the_document(done.stdout)
    assert says in document["content"][0]["text"]
    assert (document["isError"], done.returncode) == (True, 1)


def test_a_task_that_fails_is_an_answer_and_not_an_error_of_the_call(play: Play) -> None:
    stage = play(Script())
    use_stand_in(stage)
    tasks = [{"name": "bad", "prompt": "fail"}, {"name": "worse", "prompt": "x", "profile": "none"}]
    done = stage.command("call", "delegate_to_subagents", json.dumps({"tasks": tasks}))
    document = the_document(done.stdout)
    bad, worse = document["content"][0]["text"].splitlines()
    assert bad.startswith("✗ bad: error — Sub-agent exited with code 3 before it finished: it went wrong (session: ")
    assert 'Unknown profile: "none". Available profiles: (none)' in worse
    assert (document["isError"], done.returncode) == (False, 0)


def test_a_signal_ends_the_agents_and_the_answer_says_so(play: Play) -> None:
    stage = play(Script().otherwise([Call("bash", {"command": "sleep 1000"})]))
    with stage.start_command("call", "delegate_to_subagents", ONE_TASK) as process:
        until(lambda: any("sleep 1000" in command for command in processes_below(stage.project)))
        process.send_signal(signal.SIGTERM)
        stdout, _stderr = process.communicate(timeout=WAIT_S)
    document = the_document(stdout)
    assert document["content"][0]["text"].startswith("✗ t: error — Cancelled (session: ")
    assert (document["isError"], process.returncode) == (True, 1)
    assert processes_below(stage.project) == []


def test_tools_prints_name_description_and_schema_of_every_tool(play: Play) -> None:
    done = play(Script()).command("tools")
    tools = {tool["name"]: tool for tool in json.loads(done.stdout)}
    assert {"delegate_to_subagents", "list_subagent_profiles"} <= set(tools)
    assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in tools.values())
    tasks = tools["delegate_to_subagents"]["inputSchema"]["properties"]["tasks"]
    assert (tasks["minItems"], tasks["maxItems"]) == (1, 16)
    assert done.returncode == 0


@pytest.mark.cold
def test_ctrl_c_while_arguments_are_awaited_is_no_traceback(play: Play) -> None:
    stage = play(Script())
    command = [sys.executable, "-m", "pi_subagents", "call", "list_subagent_profiles", "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=stage.project, env=stage.environ, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as call:
        until(lambda: _reads(call.pid), "it reads")
        call.send_signal(signal.SIGINT)
        said, complaint = call.communicate(timeout=WAIT_S)
    assert (call.returncode, said, complaint) == (1, "", "Aborted!\n")


def _reads(pid: int) -> bool:
    """Whether it waits for standard input: system call 0 of descriptor 0."""
    return Path(f"/proc/{pid}/syscall").read_text().split()[:2] == ["0", "0x0"]
