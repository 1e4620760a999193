"""Background runs are found, counted and waited for, whatever has become of the index."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from pi_subagents.models import new_run_id, new_session_id, short_id
from pi_subagents.models.event import Created, Detached, Started
from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.runs.background import Registry, newest_runs
from pi_subagents.store import Index, index, publish, session_of
from pi_subagents.testing import answer, prints
from pi_subagents.testing.agent import waits_for
from tests.background.kit import Yard
from tests.kit.waiting import PATIENCE_S, until
from tests.process.test_killed_guards import ORDINARY_USER

Break = Callable[[Path], AbstractContextManager[None]]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else has it, and does not let go."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def replaced_by_a_directory(path: Path) -> Iterator[None]:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    path.mkdir()
    yield


@contextmanager
def corrupt(path: Path) -> Iterator[None]:
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    yield


@contextmanager
def forgetful(path: Path) -> Iterator[None]:
    """It works, but was not to be had when the runs were launched."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM runs")
        connection.commit()
    yield


@pytest.fixture(params=[locked, replaced_by_a_directory, corrupt, forgetful], ids=lambda damage: damage.__name__)
def damage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Break:
    monkeypatch.setattr(index, "_BUSY_S", 0.05)
    return request.param  # type: ignore[no-any-return]  # pytest does not know


async def test_runs_are_counted_waited_for_told_and_found_from_elsewhere(
    damage: Break, yard: Yard, tmp_path: Path
) -> None:
    done = await yard.launch(prints(*answer("at once")))
    await yard.see_the_end(done)
    until(lambda: not yard.keepers(), "nobody writes to the index any more")
    patient = await yard.launch(waits_for(tmp_path / "go"), prints(*answer("in the end")))
    with damage(Index(yard.place.agent_dir).path):
        details = await yard.status(includeCompleted=True)
        assert details["counts"] == {"running": 1, "completed": 1, "failed": 0, "aborted": 0, "total": 2}
        assert [row["runId"] for row in details["runs"]] == [done.name, patient.name]
        launched = await yard.launch(prints(*answer("meanwhile")))
        assert (await yard.see_the_end(launched))["finalText"] == "meanwhile"
        unfinished = await yard.status(wait_s=0.3)
        assert [row["runId"] for row in unfinished["runs"]] == [patient.name], "it was not waited for"
        (tmp_path / "go").touch()
        assert (await yard.see_the_end(patient))["finalText"] == "in the end"
        assert (await yard.status())["counts"]["completed"] == 3
        assert [run.run_dir for run in newest_runs(yard.place, 2, everywhere=True)] == [launched, patient]
        assert Registry(yard.place, "somebody else").runs() == []
        assert [run.run_dir for run in yard.registry.unannounced()] == [done, patient, launched], "no notice is lost"
        (tmp_path / "elsewhere" / ".pi").mkdir(parents=True)
        registry = Registry(Place.here(tmp_path / "elsewhere", yard.environ), "anybody")
        assert registry.runs() == []
        ids = (done.name, "../../etc", f"{done.name[:-1]}x")
        assert [run and run.run_dir for run in map(registry.find, ids)] == [done, None, None]


def test_a_run_that_was_detached_is_found_on_disk(yard: Yard) -> None:
    session = new_session_id()
    created = Created(run_id=new_run_id(session), session_id=session, name="t", prompt="p", cwd="/", harness="pi-json")
    record = publish(runs_dir(yard.place.project) / created.run_id, {}, created)
    assert Registry(yard.place, "terminal").runs() == []
    record.append([Started(pid=1, containment="guard"), Detached(owner="terminal")])
    (run,) = Registry(yard.place, "terminal").runs()
    assert (run.run_dir, run.state.background) == (record.path, True)
    record.close()


async def test_where_nothing_may_be_written_the_commands_see_and_wait_for_a_run_too(yard: Yard, tmp_path: Path) -> None:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("needs setpriv, or another user than root")
    yard = Yard(yard.stage, yard.limit, "terminal", yard.keeper_mark)
    run_dir = await yard.launch(waits_for(tmp_path / "go"), prints(*answer("in the end")))
    with _read_only(yard.place.agent_dir / "subagents"):
        _, listed, told = await asyncio.to_thread(background, yard, "list", "--json")
        assert [row["runId"] for row in json.loads(listed)] == [run_dir.name], told
        code, _, told = await asyncio.to_thread(background, yard, "wait", "--timeout", "0.2")
        assert (code, "Timed out waiting for 1 run." in told) == (124, True), told
        (tmp_path / "go").touch()
        code, out, told = await asyncio.to_thread(background, yard, "wait", run_dir.name)
        assert (code, out.split()[0], "Traceback" in told) == (0, short_id(session_of(run_dir)), False), told
    until(lambda: not yard.keepers())


def background(yard: Yard, *arguments: str) -> tuple[int, str, str]:
    """The command of a user who may not write into what is read-only, which root without its powers may not either."""
    command = [sys.executable, "-m", "pi_subagents", "background", *arguments]
    powerless = ORDINARY_USER if os.geteuid() == 0 else []
    done = subprocess.run(
        [*powerless, *command],
        cwd=yard.stage.project,
        env=yard.environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@contextmanager
def _read_only(folder: Path) -> Iterator[None]:
    before = folder.stat().st_mode
    folder.chmod(0o555)
    for file in folder.iterdir():
        if file.is_file():
            file.chmod(0o444)
    yield
    folder.chmod(before)
