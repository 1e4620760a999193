"""A conversation that is opened again: sessions are read from disk, and from its log where the disk has nothing."""

from __future__ import annotations

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
from tests.bridge.kit import Desk, Message, tasks

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
    assert len(entry["data"]["output"].encode()) < 66_000
    assert entry["data"]["output"].endswith("bytes are missing]")
