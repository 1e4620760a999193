"""What the model of an MCP client is told of a background run."""

from __future__ import annotations

from typing import Any

from pi_subagents.tools.outputs import run_content

ROW: dict[str, Any] = {
    "runId": "20260101T000000000-0123456789abcdef",
    "sessionId": "0123456789abcdef",
    "preset": "scout",
    "task": "t" * 5000,
    "status": "completed",
    "paths": {"runDir": "/project/runs/1", "stdout": "/project/runs/1/stdout.log"},
    "usage": {"total_tokens": 12},
    "exitCode": 0,
    "error": None,
    "finalText": "a" * 3000,
}
REST = 'call get_subagent_output with sessionId "0123456789abcdef"]'


def test_a_run_that_was_asked_for_tells_its_answer_and_no_bookkeeping() -> None:
    told = run_content(ROW)
    assert told["finalText"] == f"{'a' * 2000}… [cut, 1,000 more characters: {REST}"
    assert told["task"] == f"{'t' * 200}…"
    assert told["paths"] == {"runDir": "/project/runs/1"}
    assert not {"usage", "exitCode"} & told.keys()


def test_a_run_among_others_tells_how_its_answer_begins() -> None:
    told = run_content(ROW, alone=False)
    assert told["finalText"] == f"{'a' * 200}… [cut, 2,800 more characters: {REST}"
