"""What a run leaves on disk while it goes on and after it, seen by other processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from pi_subagents.clock import iso_time
from pi_subagents.fold import RunState, fold
from pi_subagents.models import event as ev
from pi_subagents.store import JOURNAL_FILE, LEASE_FILE, META_FILE, is_held, publish, read_journal
from pi_subagents.testing import answer, script
from pi_subagents.testing.agent import complains, leaves_behind, waits_for, writes
from tests.kit.sessions import take_lease
from tests.process.kit import DONE, FOREVER, READY, Stage, until_ready

IS_HELD = (
    "import sys; from pathlib import Path; from pi_subagents.store import is_held; print(is_held(Path(sys.argv[1])))"
)


async def test_the_lease_is_held_while_the_agent_runs_and_free_after_it(stage: Stage, tmp_path: Path) -> None:
    delegation = stage.delegation([leaves_behind(daemon=True), READY, waits_for(tmp_path / "go on"), DONE])
    work = await until_ready(delegation)
    (run_dir,) = stage.run_dirs
    assert (await asyncio.to_thread(stage.program, IS_HELD, str(run_dir))).stdout == "True\n"
    (tmp_path / "go on").touch()
    await work
    assert (await asyncio.to_thread(stage.program, IS_HELD, str(run_dir))).stdout == "False\n"


async def test_a_record_is_for_its_owner_alone_and_not_for_git(plain_stage: Stage) -> None:
    before = os.umask(0)
    try:
        result = await plain_stage.run(writes(b"junk\n"), complains("warning\n"), DONE)
    finally:
        os.umask(before)
    inside = list(result.run_dir.rglob("*"))
    assert {path.name for path in inside} >= {META_FILE, JOURNAL_FILE, LEASE_FILE, "result.json", "stdout.log"}
    for path in [result.run_dir, plain_stage.runs, *inside]:
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path.name
    assert (plain_stage.runs / ".gitignore").read_text() == "*\n"


def test_no_reader_ever_sees_a_run_that_is_half_there(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    wrong: list[str] = []
    enough = threading.Event()

    def read() -> None:
        while not enough.is_set():
            for run_dir in [path for path in runs.iterdir() if path.name[0] != "."]:
                missing = [name for name in (META_FILE, JOURNAL_FILE, LEASE_FILE) if not (run_dir / name).exists()]
                if missing or not is_held(run_dir) or not list(read_journal(run_dir / JOURNAL_FILE)):
                    wrong.append(f"{run_dir.name}: {missing}")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    records = [publish(runs / f"r{number}", {}, _created(number)) for number in range(60)]
    enough.set()
    for reader in readers:
        reader.join()
    for record in records:
        record.close()
    assert wrong == []


def test_a_child_forked_without_exec_does_not_keep_the_lease(tmp_path: Path) -> None:
    lease = take_lease(tmp_path)
    assert lease is not None
    ready, tell_ready = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(tell_ready, b".")
        signal.pause()
    try:
        os.read(ready, 1)
        assert is_held(tmp_path)
        lease.release()
        assert not is_held(tmp_path)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(tell_ready)


FULL_DISK = """
import asyncio, resource, sys
from pi_subagents import Task, delegate

async def main():
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    (result,) = await delegate([Task("task", sys.argv[1])])
    print(result.status, result.reason, result.error)

asyncio.run(main())
"""


@pytest.mark.parametrize("ending", [DONE, FOREVER], ids=["finishes", "works on"])
def test_a_journal_that_cannot_grow_stops_the_run_which_then_has_failed(
    ending: list[object], plain_stage: Stage
) -> None:
    prompt = script(writes(b"x" * 100 + b"\n", times=5000), ending)
    told = plain_stage.program(FULL_DISK, prompt).stdout.strip()
    (run_dir,) = plain_stage.run_dirs
    assert told == f"failed record cannot write the journal {run_dir / JOURNAL_FILE}: File too large"
    assert plain_stage.processes() == []
    assert not is_held(run_dir)
    assert fold(RunState(), read_journal(run_dir / JOURNAL_FILE)).status == "running", "nothing may call it completed"


LEAKS = """
import asyncio, os, sys
from pi_subagents import Task, delegate

async def main():
    async def some(count):
        results = await delegate([Task(str(number), "go") for number in range(count)], concurrency=8)
        assert all(result.ok for result in results), results[0]

    await some(8)
    before = sorted(os.listdir("/proc/self/fd"))
    await some(100)
    after = sorted(os.listdir("/proc/self/fd"))
    print(len(after) - len(before))

asyncio.run(main())
"""


def test_a_hundred_runs_leak_no_descriptor_and_no_process(stage: Stage, tmp_path: Path) -> None:
    records = "\n".join(json.dumps(record) for record in answer("Done."))
    agent = tmp_path / "quick-agent"
    agent.write_text(f"#!/bin/sh\ncat <<'END'\n{records}\nEND\n")
    agent.chmod(0o755)
    assert stage.program(LEAKS, environ={"PI_SUBAGENTS_PI": str(agent)}).stdout == "0\n"
    assert stage.processes() == []


def _created(number: int) -> ev.Created:
    return ev.Created(run_id=f"r{number}", session_id="s", name="n", prompt="p", cwd="/", harness="pi-json")


async def test_the_transcript_begins_with_what_one_wants_to_know_first(plain_stage: Stage) -> None:
    plain_stage.write_profile("quick", "model: acme/small")
    result = await plain_stage.run(DONE, profile="quick")
    lines = (result.run_dir / "transcript.log").read_text().split("\n")
    created = fold(RunState(), plain_stage.events()).created_at
    assert created is not None
    assert lines[:5] == ["name: task 0", "profile: quick", "model: acme/small", f"cwd: {plain_stage.project}", lines[4]]
    assert lines[4] == f"time: {iso_time(created)}"
    assert lines[5:8] == ["", "Done.", "Completed"]
