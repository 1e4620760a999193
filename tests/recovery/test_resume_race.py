"""A session is resumed by one at a time, whoever else tries at the same moment."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from pi_subagents.testing.agent import prints, waits_for
from pi_subagents.testing.records import answer
from tests.kit.waiting import PATIENCE_S, until
from tests.process.kit import Stage


def _resume(stage: Stage, session_id: str, gate: Path) -> subprocess.Popen[str]:
    tasks = json.dumps({"tasks": [{"name": "again", "prompt": "go on", "resume": session_id}]})
    script = json.dumps([waits_for(gate), prints(*answer("carried on"))])
    return stage.start_command("call", "delegate_to_subagents", tasks, PI_SUBAGENTS_SCRIPT=script)


async def test_of_two_that_resume_a_session_at_the_same_moment_one_runs_and_the_other_is_told(
    stage: Stage, tmp_path: Path
) -> None:
    first = await stage.run(prints(*answer("begun")))
    rivals = [_resume(stage, first.session_id, tmp_path / "gate") for _ in range(2)]
    until(lambda: any(rival.poll() is not None for rival in rivals), "one is told, while the other runs")
    (tmp_path / "gate").touch()
    answers = [json.loads(rival.communicate(timeout=PATIENCE_S)[0]) for rival in rivals]
    texts = sorted(reply["content"][0]["text"] for reply in answers)
    busy = f'Cannot resume: session "{first.session_id}" is still running. Wait for it to complete before resuming.'
    assert texts == [busy, f"✓ again: completed (session: {first.session_id})"]
    assert sorted(reply["isError"] for reply in answers) == [False, True]
    assert len(stage.run_dirs) == 2


async def test_a_call_that_names_a_session_twice_starts_nothing(stage: Stage) -> None:
    first = await stage.run(prints(*answer("begun")))
    tasks = [{"name": name, "prompt": "go on", "resume": first.session_id} for name in ("a", "b")]
    result = await stage.tool("delegate_to_subagents", tasks=tasks)
    assert result.is_error
    assert "is still running" in result.text
    assert len(stage.run_dirs) == 1
