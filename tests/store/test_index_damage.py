"""Whatever happens to the index, runs go on, sessions are found, and it comes back identical."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.fold import RunState, fold
from pi_subagents.models import Reason
from pi_subagents.models.event import Created, Message, Started, TextPart
from pi_subagents.models.run import Usage
from pi_subagents.outcome import ending
from pi_subagents.place import Place
from pi_subagents.runs.sessions import Sessions
from pi_subagents.store import Index, publish
from pi_subagents.store.index import MIGRATIONS, migrate
from tests.kit.waiting import PATIENCE_S


def keep_run(project: Path, number: int, *, over: bool = True) -> tuple[RunState, Path]:
    """A run on the disk of a project, as its holder leaves it; one that is not over is still held."""
    session_id = f"{number:016x}"
    run_id = f"20260101T000000{number:03d}-{session_id}"
    created = Created(
        at=number, run_id=run_id, session_id=session_id, name=f"task {number}", prompt="p", cwd="/", harness="h"
    )
    run_dir = project / ".pi" / "subagents" / "runs" / run_id
    record = publish(run_dir, {}, created)
    events = [Started(at=number + 1, pid=1, containment="none")]
    message = Message(role="assistant", parts=(TextPart("said"),), usage=Usage(total_tokens=number, cost=0.5))
    more = [*events, message, ending(Reason.SETTLED, None, number + 2)] if over else events
    record.append(more)
    if over:
        record.close()
    else:
        _held.append(record)
    return fold(RunState(), [created, *more]), run_dir


_held: list[Any] = []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".pi").mkdir(parents=True)
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path / "agent")


def rows(index: Index) -> list[dict[str, Any]]:
    return index.rows()


def fill(index: Index, project: Path, count: int = 5) -> list[dict[str, Any]]:
    for number in range(count):
        state, run_dir = keep_run(project, number, over=number % 4 != 3)
        index.record(project, {run_dir: state})
    return rows(index)


def test_a_rebuilt_index_is_identical_to_the_one_kept_run_by_run(index: Index, project: Path) -> None:
    before = fill(index, project)
    assert index.rebuild() == 5
    assert rows(index) == before
    assert [row["status"] for row in before] == ["completed", None, "completed", "completed", "completed"]


@pytest.mark.parametrize("garbage", [b"this is no database", b"", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_index_is_rebuilt_by_whoever_needs_it(garbage: bytes, index: Index, project: Path) -> None:
    before = fill(index, project)
    index.path.write_bytes(garbage)
    assert rows(index) == before


def test_a_missing_index_is_rebuilt_from_the_list_of_projects(index: Index, project: Path) -> None:
    before = fill(index, project)
    index.path.unlink()
    assert rows(index) == before


def test_a_locked_index_costs_a_warning_and_nothing_else(
    index: Index, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fill(index, project, 1)
    with closing(sqlite3.connect(index.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        state, run_dir = keep_run(project, 7)
        index.record(project, {run_dir: state})
        other.execute("ROLLBACK")
    assert "cannot be used" in caplog.text
    assert len(rows(index)) == 1
    assert index.rebuild() == 2


def test_an_index_nobody_may_write_costs_a_warning_and_sessions_are_still_found(tmp_path: Path, project: Path) -> None:
    keep_run(project, 1)
    unusable = tmp_path / "agent"
    unusable.write_text("a file where the agent directory should be")
    place = Place(project, unusable, dict(os.environ))
    Index(unusable).record(project, {})
    assert Sessions(place).find("0000000000000001").latest.state.text == "said"


def test_a_session_of_another_project_is_found_through_the_index_and_without_it(
    index: Index, project: Path, tmp_path: Path
) -> None:
    fill(index, project, 1)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = Place(elsewhere, tmp_path / "agent", dict(os.environ))
    assert Sessions(place).find("0000000000000000").latest.state.name == "task 0"
    index.path.unlink()
    index.path.mkdir()  # nothing can be made of this
    assert Sessions(place).find("0000000000000000").latest.state.name == "task 0"


_WRITER = """
import sys
from pathlib import Path
from pi_subagents.fold import RunState
from pi_subagents.store import Index, index
index._BUSY_S = float(sys.argv[4])  # how long one waits for the other is a matter of the machine
agent, project, who = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
for number in range(40):
    state = RunState(run_id=f"20260101T000000{number:03d}-{who * 16}", session_id=who * 16, name="n")
    Index(agent).record(project, {project / "x": state})
"""


def test_two_processes_write_at_the_same_time_without_errors(tmp_path: Path, project: Path) -> None:
    argv = [sys.executable, "-c", _WRITER, str(tmp_path / "agent"), str(project)]
    writers = [subprocess.Popen([*argv, who, str(PATIENCE_S)], stderr=subprocess.PIPE) for who in ("a", "b")]
    assert [writer.communicate(timeout=PATIENCE_S)[1] for writer in writers] == [b"", b""]
    assert len(rows(Index(tmp_path / "agent"))) == 80


@pytest.mark.parametrize("version", range(len(MIGRATIONS) + 1))
def test_a_database_of_every_released_schema_is_brought_up_to_date(version: int, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old", isolation_level=None)) as connection:
        migrate(connection, MIGRATIONS[:version])
        migrate(connection)
        fresh = sqlite3.connect(":memory:", isolation_level=None)
        migrate(fresh)
        with closing(fresh):
            schema = "SELECT name, sql FROM sqlite_master ORDER BY name"
            assert connection.execute(schema).fetchall() == fresh.execute(schema).fetchall()
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_rows_of_an_older_schema_are_kept(index: Index, project: Path) -> None:
    before = fill(index, project)
    current = index.path.with_name("current")
    index.path.rename(current)
    with closing(sqlite3.connect(index.path, isolation_level=None)) as old:
        migrate(old, MIGRATIONS[:3])
        old.execute("PRAGMA application_id = 1")
        old.execute("ATTACH ? AS current", [str(current)])
        names = ", ".join(name for name in before[0] if name != "preset")
        old.execute(f"INSERT INTO main.runs ({names}) SELECT {names} FROM current.runs")
    for run_dir in project.glob("**/runs/2*"):
        run_dir.rename(project / run_dir.name)
    assert rows(index) == [{**row, "status": None} for row in before]  # their journals know whether they had a preset


def test_the_index_and_the_list_of_projects_are_private(index: Index, project: Path) -> None:
    fill(index, project, 1)
    modes = {path.name: path.stat().st_mode & 0o777 for path in index.path.parent.iterdir()}
    assert modes["index.sqlite3"] == 0o600
    assert modes["projects.jsonl"] == 0o600
