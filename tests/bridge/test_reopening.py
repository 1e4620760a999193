"""A conversation that is opened again: sessions are read from disk, and from its log where the disk has nothing."""

from __future__ import annotations

import json
import shutil

import pytest

from pi_subagents.testing import prints
from pi_subagents.testing.records import (
    AGENT_SETTLED,
    AGENT_START,
    agent_end,
    answer,
    assistant,
    tool_call,
    tool_result,
)
from tests.bridge.kit import Desk, Message
from tests.process.kit import tasks

DONE = prints(*answer("All is well."))
LOOKED = prints(
    AGENT_START,
    assistant("Looking.", tool_call("ls", path="src")),
    tool_result("ls", "a.py"),
    assistant("There is a.py."),
    agent_end(),
    AGENT_SETTLED,
)


def test_the_disk_is_right_where_it_and_the_log_disagree(desk: Desk) -> None:
    with desk.bridge() as first:
        (session_id,) = first.call("delegate_to_subagents", tasks([DONE]))["details"]["sessionIds"]
    entries = [{**entry, "data": {**entry["data"], "output": "Made up."}} for entry in first.told("entry/append")]
    with desk.bridge(reason="resume", entries=entries) as second:
        assert second.call("get_subagent_output", {"sessionId": session_id})["text"] == "All is well."


def test_what_the_log_kept_is_told_where_the_record_is_gone_and_that_it_is(desk: Desk) -> None:
    with desk.bridge() as first:
        (session_id,) = first.call("delegate_to_subagents", tasks([LOOKED]))["details"]["sessionIds"]
        first.call("delegate_to_subagents", tasks([DONE], resume=session_id))
    shutil.rmtree(desk.stage.runs)
    entries = first.told("entry/append")
    with desk.bridge(reason="resume", entries=entries) as second:
        output = second.call("get_subagent_output", {"sessionId": session_id})
        assert output["text"].startswith("Previously:"), "an agent that is no script repeats its prompt"
        assert "\n---\n[its record is gone from disk" in output["text"]
        assert not output["isError"]
        assert output["details"]["runCount"] == 2
        transcript = second.call("get_subagent_session", {"sessionId": session_id})["text"]
        assert "→ ls: " in transcript
        assert "There is a.py." in transcript
        missing = second.call("get_subagent_output", {"sessionId": "0123456789abcdef"})
        assert missing["isError"]
    with desk.bridge(reason="new", entries=entries) as third:
        assert third.call("get_subagent_output", {"sessionId": session_id})["isError"]


RULED = "# Report\n\nPart one\n---\nPart two"


def test_an_answer_with_rules_in_it_is_told_once_where_the_record_is_gone(desk: Desk) -> None:
    with desk.bridge() as first:
        looked = prints(AGENT_START, assistant("Looking.", tool_call("ls", path="src")), tool_result("ls", "a.py"))
        asked = tasks([looked, prints(assistant(RULED), agent_end(), AGENT_SETTLED)])
        (session_id,) = first.call("delegate_to_subagents", asked)["details"]["sessionIds"]
        before = first.call("get_subagent_session", {"sessionId": session_id})
    shutil.rmtree(desk.stage.runs)
    with desk.bridge(reason="resume", entries=first.told("entry/append")) as second:
        session = second.call("get_subagent_session", {"sessionId": session_id})
        assert second.call("get_subagent_output", {"sessionId": session_id})["text"].startswith(f"{RULED}\n---\n[its")
        assert session["text"].startswith(before["text"])
        assert session["text"].count("Part two") == 1
        for fact in ("messageCount", "exitCode", "status", "runCount"):
            assert session["details"][fact] == before["details"][fact], fact
        second.call("delegate_to_subagents", {"tasks": [{"name": "t", "prompt": "And?", "resume": session_id}]})
        told = second.call("get_subagent_output", {"sessionId": session_id})["text"]
    said = f'Assistant: Looking.\n\nTool Call: ls({{"path":"src"}})\n\nTool Result: a.py\n\nAssistant: {RULED}\n\n'
    assert f"{said}Instructions:\n\nAnd?" in told


def test_an_entry_with_a_transcript_instead_of_messages_is_read_too(desk: Desk) -> None:
    transcript = f"Looking.\n---\n{RULED}\n---\n[Error: It fell over.]"
    data = {"sessionId": SESSION, "taskName": "t", "status": "error", "errorMessage": "It fell over."}
    entry = {"type": "pi-subagents", "data": {**data, "output": RULED, "transcript": transcript}}
    with desk.bridge(reason="resume", entries=[entry]) as bridge:
        assert bridge.call("get_subagent_output", {"sessionId": SESSION})["text"].startswith(f"{RULED}\n---\n[its")
        assert bridge.call("get_subagent_session", {"sessionId": SESSION})["text"].startswith(
            f"{transcript}\n---\n[its"
        )


def test_a_message_that_makes_no_sense_costs_only_itself(desk: Desk) -> None:
    data = {**ORIGINAL, "messages": [None, 7, {"role": 3}, *ORIGINAL["messages"]]}
    with desk.bridge(reason="resume", entries=[{"type": "pi-subagents", "data": data}]) as bridge:
        session = bridge.call("get_subagent_session", {"sessionId": SESSION})
    assert session["text"].startswith("Looking.")
    assert (session["details"]["messageCount"], session["details"]["exitCode"]) == (4, 0)


def test_what_an_agent_was_saying_when_it_was_stopped_is_told_where_the_record_is_gone(desk: Desk) -> None:
    data = {**ORIGINAL, "status": "error", "errorMessage": "Cancelled", "output": "And then there"}
    with desk.bridge(reason="resume", entries=[{"type": "pi-subagents", "data": data}]) as bridge:
        output = bridge.call("get_subagent_output", {"sessionId": SESSION})
    assert output["text"].startswith("And then there\n---\n[its")


def test_a_run_that_the_log_calls_running_was_interrupted(desk: Desk) -> None:
    data: Message = {"sessionId": "0123456789abcdef", "taskName": "t", "status": "running", "output": "So far."}
    with desk.bridge(reason="resume", entries=[{"type": "pi-subagents", "data": data}]) as bridge:
        details = bridge.call("get_subagent_output", {"sessionId": data["sessionId"]})["details"]
    assert details["status"] == "error"
    assert details["error"] == "Session was interrupted (main agent session ended unexpectedly)"


def test_an_entry_keeps_no_more_than_a_log_can_bear(desk: Desk) -> None:
    with desk.bridge() as bridge:
        bridge.call("delegate_to_subagents", tasks([prints(*answer("é" * 100_000))]))
        (entry,) = bridge.told("entry/append")
        lines = [assistant("x" * 1000, tool_call("write", path=f"{n}", content="y" * 50_000)) for n in range(100)]
        asked = tasks([prints(AGENT_START, *lines, assistant("Done."), agent_end(), AGENT_SETTLED)])
        bridge.call("delegate_to_subagents", asked)
        _, long = bridge.told("entry/append")
    assert len(entry["data"]["output"].encode()) < 66_000
    assert entry["data"]["output"].endswith("bytes are missing]")
    assert len(json.dumps(entry["data"]["messages"], ensure_ascii=False).encode()) < 70_000
    assert len(json.dumps(long["data"]["messages"])) < 70_000
    assert long["data"]["messageCount"] > len(long["data"]["messages"]) > 10
    assert long["data"]["messages"][-1]["content"] == [{"type": "text", "text": "Done."}]


SESSION = "0123456789abcdef"
ORIGINAL: Message = {
    "sessionId": SESSION,
    "taskName": "explore",
    "status": "completed",
    "startedAt": 1_700_000_000_000,
    "completedAt": 1_700_000_005_000,
    "exitCode": 0,
    "model": "acme/large",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Look around."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Looking."},
                {"type": "toolCall", "id": "1", "name": "ls", "arguments": {"path": "src"}},
            ],
            "stopReason": "toolUse",
        },
        {
            "role": "toolResult",
            "toolCallId": "1",
            "toolName": "ls",
            "content": [{"type": "text", "text": "a.py"}],
            "isError": False,
        },
        {"role": "assistant", "content": [{"type": "text", "text": "There is a.py."}], "stopReason": "stop"},
    ],
}
"""As the extension wrote it that was there before this one."""


def test_a_session_of_the_extension_that_was_there_before_is_read_back(desk: Desk) -> None:
    with desk.bridge(reason="resume", entries=[{"type": "pi-subagents", "data": ORIGINAL}]) as bridge:
        output = bridge.call("get_subagent_output", {"sessionId": SESSION})
        session = bridge.call("get_subagent_session", {"sessionId": SESSION})
    assert output["text"].startswith("There is a.py.\n---\n[its record is gone")
    assert session["text"].startswith(
        'Looking.\n→ ls: {"path":"src"}\n---\n[tool result]: a.py\n---\nThere is a.py.\n---\n[its record is gone'
    )
    facts = {name: session["details"][name] for name in ("status", "taskName", "runCount", "messageCount", "model")}
    assert facts == {
        "status": "completed",
        "taskName": "explore",
        "runCount": 1,
        "messageCount": 4,
        "model": "acme/large",
    }


def test_a_session_of_the_extension_that_was_there_before_goes_on(desk: Desk) -> None:
    with desk.bridge(reason="resume", entries=[{"type": "pi-subagents", "data": ORIGINAL}]) as bridge:
        resumed = bridge.call("delegate_to_subagents", {"tasks": [{"name": "t", "prompt": "And?", "resume": SESSION}]})
        assert resumed["details"]["sessionIds"] == [SESSION]
        told = bridge.call("get_subagent_output", {"sessionId": SESSION})["text"]
        session = bridge.call("get_subagent_session", {"sessionId": SESSION})
    assert told == (
        'Previously:\n\nUser: Look around.\n\nAssistant: Looking.\n\nTool Call: ls({"path":"src"})\n\n'
        "Tool Result: a.py\n\nAssistant: There is a.py.\n\nInstructions:\n\nAnd?"
    )
    assert session["text"].startswith("=== Run 1/2 (completed) ===\nLooking.")
    assert "=== Run 2/2 (completed) ===\nPreviously:" in session["text"]
    assert session["details"]["runCount"] == 2


def test_a_session_whose_record_is_gone_goes_on_from_the_log(desk: Desk) -> None:
    with desk.bridge() as first:
        (session_id,) = first.call("delegate_to_subagents", tasks([LOOKED]))["details"]["sessionIds"]
    shutil.rmtree(desk.stage.runs)
    with desk.bridge(reason="resume", entries=first.told("entry/append")) as second:
        second.call("delegate_to_subagents", {"tasks": [{"name": "t", "prompt": "And?", "resume": session_id}]})
        told = second.call("get_subagent_output", {"sessionId": session_id})["text"]
        second.call("delegate_to_subagents", {"tasks": [{"name": "t", "prompt": "Once more.", "resume": session_id}]})
        again = second.call("get_subagent_output", {"sessionId": session_id})["text"]
        assert second.call("get_subagent_session", {"sessionId": session_id})["details"]["runCount"] == 3
    assert told.startswith("Previously:\n\nUser: [[")
    assert "There is a.py." in told
    assert told.endswith("\n\nInstructions:\n\nAnd?")
    assert "--- Run 1 (completed, 3 messages) ---" in again
    assert "--- Run 2 (completed, 1 messages) ---\n\nUser: And?" in again


def test_malformed_entries_are_skipped_and_the_others_read(desk: Desk) -> None:
    broken: list[Message] = [
        {**ORIGINAL, "messages": "none"},
        {**ORIGINAL, "taskName": 7},
        {**ORIGINAL, "messages": [{"role": "unheard of"}, {"role": "assistant", "content": "odd"}]},
    ]
    entries = [{"type": "pi-subagents", "data": data} for data in (*broken, ORIGINAL)]
    with desk.bridge(reason="resume", entries=entries) as bridge:
        output = bridge.call("get_subagent_output", {"sessionId": SESSION})
    assert output["text"].startswith("There is a.py.")


def test_a_session_of_the_log_is_resumed_once_at_a_time(desk: Desk) -> None:
    task = {"name": "t", "prompt": "And?", "resume": SESSION}
    with desk.bridge(reason="resume", entries=[{"type": "pi-subagents", "data": ORIGINAL}]) as bridge:
        both = bridge.call("delegate_to_subagents", {"tasks": [task, task]})
    assert both["isError"]
    assert both["text"].startswith(f'Cannot resume: session "{SESSION}" is still running.')


@pytest.mark.parametrize("session_id", ["x/../../../../out/there", "..", "", "é" * 16, "a" * 300, f"{SESSION}\n"])
def test_what_is_no_id_of_a_session_makes_no_directory(desk: Desk, session_id: str) -> None:
    entry = {"type": "pi-subagents", "data": {**ORIGINAL, "sessionId": session_id}}
    before = sorted(desk.stage.project.parent.iterdir())
    with desk.bridge(reason="resume", entries=[entry]) as bridge:
        resumed = bridge.call(
            "delegate_to_subagents", {"tasks": [{"name": "t", "prompt": "And?", "resume": session_id}]}
        )
    assert resumed["isError"] or resumed["details"]["sessionIds"] != [session_id]
    assert sorted(desk.stage.project.parent.iterdir()) == before
    assert not list(desk.stage.project.rglob("*-x"))
