"""A conversation that is opened again: sessions are read from disk, and from its log where the disk has nothing."""

from __future__ import annotations

import json
import shutil

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
from tests.bridge.kit import Desk, Extension
from tests.kit.desks import DONE
from tests.kit.json_lines import Message
from tests.process.kit import tasks

LOOKED = prints(
    AGENT_START,
    assistant("Looking.", tool_call("ls", path="src")),
    tool_result("ls", "a.py"),
    assistant("There is a.py."),
    agent_end(),
    AGENT_SETTLED,
)


def resume(bridge: Extension, session_id: str, prompt: str = "And?") -> Message:
    """Go on with a session; the agent is no script and repeats its prompt."""
    return bridge.call("delegate_to_subagents", {"tasks": [{"name": "t", "prompt": prompt, "resume": session_id}]})


def test_the_disk_is_right_where_it_and_the_log_disagree(desk: Desk) -> None:
    with desk.bridge() as first:
        (session_id,) = first.delegate([DONE])["details"]["sessionIds"]
    entries = [{**entry, "data": {**entry["data"], "output": "Made up."}} for entry in first.told("entry/append")]
    with desk.bridge(reason="resume", entries=entries) as second:
        assert second.output(session_id)["text"] == "All is well."


def test_what_the_log_kept_is_told_where_the_record_is_gone_and_that_it_is(desk: Desk) -> None:
    with desk.bridge() as first:
        (session_id,) = first.delegate([LOOKED])["details"]["sessionIds"]
        first.delegate([DONE], resume=session_id)
    shutil.rmtree(desk.stage.runs)
    entries = first.told("entry/append")
    with desk.bridge(reason="resume", entries=entries) as second:
        output = second.output(session_id)
        assert output["text"].startswith("Previously:"), "an agent that is no script repeats its prompt"
        assert "\n---\n[its record is gone from disk" in output["text"]
        assert not output["isError"]
        assert output["details"]["runCount"] == 2
        transcript = second.call("get_subagent_session", {"sessionId": session_id})["text"]
        assert "→ ls: " in transcript
        assert "There is a.py." in transcript
        missing = second.output("0123456789abcdef")
        assert missing["isError"]
    with desk.bridge(reason="new", entries=entries) as third:
        assert third.output(session_id)["isError"]


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
        assert second.output(session_id)["text"].startswith(f"{RULED}\n---\n[its")
        assert session["text"].startswith(before["text"])
        assert session["text"].count("Part two") == 1
        for fact in ("messageCount", "exitCode", "status", "runCount"):
            assert session["details"][fact] == before["details"][fact], fact
        resume(second, session_id)
        told = second.output(session_id)["text"]
    said = f'Assistant: Looking.\n\nTool Call: ls({{"path":"src"}})\n\nTool Result: a.py\n\nAssistant: {RULED}\n\n'
    assert f"{said}Instructions:\n\nAnd?" in told


def test_an_entry_with_a_transcript_instead_of_messages_is_read_too(desk: Desk) -> None:
    transcript = f"Looking.\n---\n{RULED}\n---\n[Error: It fell over.]"
    data = {"sessionId": SESSION, "taskName": "t", "status": "error", "errorMessage": "It fell over."}
    with desk.reopened({**data, "output": RULED, "transcript": transcript}) as bridge:
        assert bridge.output(SESSION)["text"].startswith(f"{RULED}\n---\n[its")
        assert bridge.call("get_subagent_session", {"sessionId": SESSION})["text"].startswith(
            f"{transcript}\n---\n[its"
        )


def test_a_message_that_makes_no_sense_costs_only_itself(desk: Desk) -> None:
    data = {**ORIGINAL, "messages": [None, 7, {"role": 3}, *ORIGINAL["messages"]]}
    with desk.reopened(data) as bridge:
        session = bridge.call("get_subagent_session", {"sessionId": SESSION})
    assert session["text"].startswith("Looking.")
    assert (session["details"]["messageCount"], session["details"]["exitCode"]) == (4, 0)


def test_what_an_agent_was_saying_when_it_was_stopped_is_told_where_the_record_is_gone(desk: Desk) -> None:
    data = {**ORIGINAL, "status": "error", "errorMessage": "Cancelled", "output": "And then there"}
    with desk.reopened(data) as bridge:
        output = bridge.output(SESSION)
    assert output["text"].startswith("And then there\n---\n[its")


def test_a_run_that_the_log_calls_running_was_interrupted(desk: Desk) -> None:
    data: Message = {"sessionId": "0123456789abcdef", "taskName": "t", "status": "running", "output": "So far."}
    with desk.reopened(data) as bridge:
        details = bridge.output(data["sessionId"])["details"]
    assert details["status"] == "error"
    assert details["error"] == "Session was interrupted (main agent session ended unexpectedly)"


def test_an_entry_keeps_no_more_than_a_log_can_bear(desk: Desk) -> None:
    with desk.bridge() as bridge:
        bridge.delegate([prints(*answer("é" * 100_000))])
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
    with desk.reopened(ORIGINAL) as bridge:
        output = bridge.output(SESSION)
        session = bridge.call("get_subagent_session", {"sessionId": SESSION})
    assert output["text"].startswith("There is a.py.\n---\n[its record is gone")
    assert session["text"].startswith(
        'Looking.\n→ ls: {"path":"src"}\n---\n[tool result]: a.py\n---\nThere is a.py.\n---\n[its record is gone'
    )
    facts = {"status": "completed", "taskName": "explore", "runCount": 1, "messageCount": 4, "model": "acme/large"}
    assert {name: session["details"][name] for name in facts} == facts


def test_a_session_of_the_extension_that_was_there_before_goes_on(desk: Desk) -> None:
    with desk.reopened(ORIGINAL) as bridge:
        resumed = resume(bridge, SESSION)
        assert resumed["details"]["sessionIds"] == [SESSION]
        told = bridge.output(SESSION)["text"]
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
        (session_id,) = first.delegate([LOOKED])["details"]["sessionIds"]
    shutil.rmtree(desk.stage.runs)
    with desk.bridge(reason="resume", entries=first.told("entry/append")) as second:
        resume(second, session_id)
        told = second.output(session_id)["text"]
        resume(second, session_id, "Once more.")
        again = second.output(session_id)["text"]
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
    with desk.reopened(*broken, ORIGINAL) as bridge:
        output = bridge.output(SESSION)
    assert output["text"].startswith("There is a.py.")


def test_a_session_of_the_log_is_resumed_once_at_a_time(desk: Desk) -> None:
    task = {"name": "t", "prompt": "And?", "resume": SESSION}
    with desk.reopened(ORIGINAL) as bridge:
        both = bridge.call("delegate_to_subagents", {"tasks": [task, task]})
    assert both["isError"]
    assert both["text"].startswith(f'Cannot resume: session "{SESSION}" is still running.')


def test_what_is_no_id_of_a_session_makes_no_directory(desk: Desk) -> None:
    no_ids = ["x/../../../../out/there", "..", "", "é" * 16, "a" * 300, f"{SESSION}\n"]
    before = sorted(desk.stage.project.parent.iterdir())
    with desk.reopened(*({**ORIGINAL, "sessionId": session_id} for session_id in no_ids)) as bridge:
        for session_id in no_ids:
            resumed = resume(bridge, session_id)
            assert resumed["isError"] or resumed["details"]["sessionIds"] != [session_id], session_id
    assert sorted(desk.stage.project.parent.iterdir()) == before
    assert not list(desk.stage.project.rglob("*-x"))
