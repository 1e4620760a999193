"""A disk that is full, or that nobody may write: nothing is called completed that was not recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.errors import StoreError
from pi_subagents.store import JOURNAL_FILE, RunRecord, is_held, load_run, publish
from pi_subagents.testing.agent import prints, writes
from pi_subagents.testing.records import AGENT_SETTLED, AGENT_START, agent_end, answer, assistant
from tests.kit.waiting import PATIENCE_S, until
from tests.process.kit import Stage, make_stage

_DISK_KB = 512


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Stage]:
    """A project on a disk of half a megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK_KB}k", "tmpfs", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("only root can make a small disk; the same is tested with a file size limit in tests/process")
    try:
        yield make_stage(disk, "guard")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _call(stage: Stage, *prompts: str) -> tuple[int, dict[str, object]]:
    tasks = [{"name": f"t{number}", "prompt": prompt} for number, prompt in enumerate(prompts)]
    argv = [sys.executable, "-m", "pi_subagents", "call", "delegate_to_subagents", "-"]
    done = subprocess.run(
        argv,
        cwd=stage.project,
        env=stage.full_environ({"TMPDIR": "/tmp"}),
        input=json.dumps({"tasks": tasks}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


async def test_a_run_that_fills_the_disk_is_stopped_and_earlier_sessions_are_intact(small_disk: Stage) -> None:
    first = await small_disk.run(prints(*answer("kept")))
    flood = json.dumps(
        [
            prints(AGENT_START),
            writes(json.dumps(assistant("x" * 900)).encode() + b"\n", 2000),
            prints(assistant("finished"), agent_end(), AGENT_SETTLED),
        ]
    )
    _code, reply = _call(small_disk, flood)
    text = str(reply["content"][0]["text"])  # type: ignore[index]
    assert "No space left on device" in text
    assert "completed" not in text
    until(lambda: not small_disk.processes())
    assert load_run(first.run_dir).text == "kept"
    for run_dir in small_disk.run_dirs[1:]:
        assert load_run(run_dir).status == "failed"


async def test_a_run_that_cannot_be_recorded_at_all_is_refused_before_anything_starts(small_disk: Stage) -> None:
    first = await small_disk.run(prints(*answer("kept")))
    with (small_disk.project / "filler").open("wb") as file, suppress(OSError):
        while os.write(file.fileno(), b"x" * 4096):
            pass
    code, reply = _call(small_disk, json.dumps([prints(*answer("never"))]))
    assert code == 1
    assert "cannot keep a record of the run" in str(reply["content"])
    assert not small_disk.processes()
    assert [path.name for path in small_disk.run_dirs] == [first.run_dir.name]
    assert not list(small_disk.runs.glob(".*.new"))


async def test_a_records_directory_that_is_a_file_refuses_the_call_with_a_sentence(tmp_path: Path) -> None:
    stage = make_stage(tmp_path, "guard")
    (stage.project / ".pi" / "subagents").write_text("in the way")
    with pytest.raises(StoreError, match="cannot keep a record of the run"):
        await stage.run(prints(*answer("never")))


async def test_a_journal_that_is_gone_is_a_clear_error_for_readers(tmp_path: Path) -> None:
    stage = make_stage(tmp_path, "guard")
    result = await stage.run(prints(*answer("kept")))
    (result.run_dir / JOURNAL_FILE).unlink()
    with pytest.raises(StoreError, match="cannot read the journal"):
        load_run(result.run_dir)


async def test_when_a_later_record_cannot_be_made_the_earlier_runs_of_the_call_are_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = make_stage(tmp_path, "guard")
    delegation = stage.delegation(*[[prints(*answer("never"))]] * 3)
    made = iter([publish, publish])

    def run_out_of_space(*arguments: Any, **options: Any) -> RunRecord:
        if (still_room := next(made, None)) is None:
            raise StoreError("No space left on device")
        return still_room(*arguments, **options)

    monkeypatch.setattr("pi_subagents.delegation.preparation.publish", run_out_of_space)
    with pytest.raises(StoreError, match="No space left"):
        await delegation
    assert [load_run(run_dir).reason for run_dir in stage.run_dirs] == ["record", "record"]
    assert not any(is_held(run_dir) for run_dir in stage.run_dirs)
