"""A key that an agent has printed does not stay on disk, though whoever held its run was killed."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.models import Reason
from pi_subagents.store import TIDY_FILE, load_run
from pi_subagents.testing.agent import Way, prints, tells, touches, waits_for
from pi_subagents.testing.records import answer
from tests.background.kit import BEGIN
from tests.kit.waiting import until
from tests.pi.stage import files_below
from tests.process.kit import Stage

KEY = "sk-killed-4711-a-very-secret-value"
WAYS: tuple[Way, ...] = ("delta", "message", "line", "stderr", "session")


def with_key(project: Path) -> list[Path]:
    return [path for path in files_below(project) if KEY.encode() in path.read_bytes()]


def test_a_killed_caller_leaves_no_key_behind_once_somebody_has_looked(stage: Stage, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    actions = [BEGIN, *(tells("ACME_API_KEY", way) for way in WAYS), touches(begun), waits_for(tmp_path / "never")]
    stage.environ["ACME_API_KEY"] = KEY
    holder = stage.holder(*actions)
    until(begun.exists)
    holder.kill()
    holder.wait()
    until(lambda: not stage.processes())
    (run_dir,) = stage.run_dirs
    assert with_key(run_dir) == [run_dir / "child-session.jsonl"], "this is what was to be cleaned"
    assert (run_dir / "child-session.jsonl").stat().st_mode & 0o777 == 0o600
    assert load_run(run_dir).reason is Reason.LOST
    assert with_key(tmp_path) == []
    assert b"[redacted]" in (run_dir / "child-session.jsonl").read_bytes()
    assert not (run_dir / TIDY_FILE).exists()


async def test_a_run_that_comes_to_its_end_leaves_nothing_to_tidy(stage: Stage) -> None:
    stage.environ["ACME_API_KEY"] = KEY
    result = await stage.run(BEGIN, tells("ACME_API_KEY", "session"), prints(*answer("Done.")))
    assert result.ok
    assert not (result.run_dir / TIDY_FILE).exists()
    assert with_key(stage.project.parent) == []
