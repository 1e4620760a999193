"""`demo`: the first thing a newcomer sees."""

from __future__ import annotations

from pi_subagents.offline import DEMO_TASKS, Script
from tests.pi.stage import Play


def test_the_demo_works_without_a_key_and_leaves_the_users_own_things_alone(play: Play) -> None:
    stage = play(Script())
    for name in ("PI_AGENT_DIR", "PI_CODING_AGENT_DIR", "PI_OFFLINE"):
        del stage.environ[name]
    done = stage.command("demo", "--plain")
    assert done.returncode == 0, done.stdout + done.stderr
    for task in DEMO_TASKS:
        assert f"── {task.name} ─" in done.stdout
        assert f"{task.name}: " in done.stderr
    assert done.stderr.count("✓ completed") == len(DEMO_TASKS)
    assert "What to try next" in done.stdout
    assert stage.run_dirs == []
