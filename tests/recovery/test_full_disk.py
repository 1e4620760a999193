"""A disk that is full, or that nobody may write: nothing is called completed that was not recorded."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.errors import StoreError
from pi_subagents.store import RunRecord, is_held, load_run, publish
from pi_subagents.testing.agent import Action, prints, writes
from pi_subagents.testing.records import AGENT_START, answer, assistant
from tests.kit.waiting import until
from tests.process.kit import Stage, make_stage, tasks

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


def _call(stage: Stage, *actions: Action) -> tuple[int, str]:
    call = json.dumps(tasks(list(actions)))
    done = stage.command("call", "delegate_to_subagents", "-", stdin=call, TMPDIR="/tmp")
    return done.returncode, json.loads(done.stdout)["content"][0]["text"]


async def test_a_run_that_fills_the_disk_is_stopped_and_earlier_sessions_are_intact(small_disk: Stage) -> None:
    first = await small_disk.run(prints(*answer("kept")))
    flood = writes(json.dumps(assistant("x" * 900)).encode() + b"\n", 2000)
    _code, text = _call(small_disk, prints(AGENT_START), flood, prints(*answer("finished")))
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
    code, text = _call(small_disk, prints(*answer("never")))
    assert code == 1
    assert "cannot keep a record of the run" in text
    assert not small_disk.processes()
    assert [path.name for path in small_disk.run_dirs] == [first.run_dir.name]
    assert not list(small_disk.runs.glob(".*.new"))


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
