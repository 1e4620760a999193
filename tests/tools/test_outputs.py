"""What the model of an MCP client is told of a background run."""

from __future__ import annotations

from typing import Any

import pytest

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


@pytest.mark.parametrize(("alone", "shown", "rest"), [(True, 2000, "1,000"), (False, 200, "2,800")])
def test_a_run_tells_its_answer_or_how_it_begins_among_others_and_no_bookkeeping(
    alone: bool, shown: int, rest: str
) -> None:
    told = run_content(ROW, alone=alone)
    assert told["finalText"] == f"{'a' * shown}… [cut, {rest} more characters: {REST}"
    assert told["task"] == f"{'t' * 200}…"
    assert told["paths"] == {"runDir": "/project/runs/1"}
    assert not {"usage", "exitCode"} & told.keys()
