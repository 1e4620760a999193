"""`demo`: the first thing a newcomer sees."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from pi_subagents.offline import DEMO_TASKS, Script, write_sample_project
from tests.pi.stage import WAIT_S, Play, Stage, files_below

_SHORT_ID = re.compile(r"([0-9a-f]{8})$", re.MULTILINE)


@pytest.fixture
def newcomer(play: Play) -> Stage:
    """Somebody without an agent directory, in a directory that does not suit the demo."""
    stage = play(Script())
    for name in ("PI_AGENT_DIR", "PI_CODING_AGENT_DIR", "PI_OFFLINE"):
        del stage.environ[name]
    return stage


def paste(stage: Stage, line: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a line in the directory where the user stands, or in another one."""
    return subprocess.run(
        shlex.split(line), cwd=cwd or stage.project, env=stage.environ, capture_output=True, text=True, timeout=WAIT_S
    )


@pytest.mark.parametrize("suits", [False, True], ids=["a sample project", "the user's project"])
def test_the_demo_works_without_a_key_and_what_it_says_to_try_next_works_where_the_user_stands(
    newcomer: Stage, suits: bool
) -> None:
    if suits:
        write_sample_project(newcomer.project)
    done = newcomer.command("demo", "--plain")
    assert done.returncode == 0, done.stdout + done.stderr
    for task in DEMO_TASKS:
        assert f"── {task.name} ─" in done.stdout
        assert f"{task.name}: " in done.stderr
    assert done.stderr.count("✓ completed") == len(DEMO_TASKS)
    assert "What to try next" in done.stdout
    ids = _SHORT_ID.findall(done.stderr)
    assert len(ids) == len(DEMO_TASKS), done.stderr
    advised = re.search(r"^  (.* )(sessions list.*?)  ", done.stdout, re.MULTILINE)
    assert advised is not None
    command, listing = advised.groups()
    everywhere = paste(newcomer, f"{command} sessions list --all", newcomer.root).stdout
    here = paste(newcomer, command + listing).stdout
    assert [name for name in ids if name not in everywhere or name not in here] == []
    shown = paste(newcomer, f"{command} sessions show {ids[0]}")
    assert shown.stdout.startswith(f"# {DEMO_TASKS[0].name}\n"), shown.stderr
    if not suits:
        _require_nothing_left_but_the_sample(newcomer)


def _require_nothing_left_but_the_sample(newcomer: Stage) -> None:
    """The users' own things are left alone, and the scripted model stays out of their agent directory."""
    assert newcomer.run_dirs == []
    agent_dir = Path(newcomer.environ["HOME"]) / ".pi" / "agent"
    kept = {path.relative_to(agent_dir).parts[:2] for path in files_below(agent_dir)}
    assert kept == {("subagents", "demo"), ("subagents", "index.sqlite3"), ("subagents", "projects.jsonl")}
