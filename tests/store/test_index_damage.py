"""Whatever happens to the index, runs go on, sessions are found, and it comes back identical."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.models import Reason
from pi_subagents.place import Place
from pi_subagents.runs.sessions import Sessions
from pi_subagents.store.index import MIGRATIONS, migrate
from tests.kit.sessions import Shelf, says
from tests.kit.waiting import PATIENCE_S


def fill(shelf: Shelf, count: int = 5) -> list[dict[str, Any]]:
    """Runs of which one is not over, as the index has them."""
    for number in range(count):
        ends = None if number == 3 else Reason.SETTLED
        shelf.add(says("said"), name=f"task {number}", session_id=f"{number:016x}", age_s=60 - number, ends=ends)
    return shelf.index.rows()


def test_a_rebuilt_index_is_identical_to_the_one_kept_run_by_run(shelf: Shelf) -> None:
    before = fill(shelf)
    assert shelf.index.rebuild() == 5
    assert shelf.index.rows() == before
    assert [row["status"] for row in before] == ["completed", None, "completed", "completed", "completed"]


@pytest.mark.parametrize("garbage", [b"this is no database", b"", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_index_is_rebuilt_by_whoever_needs_it(garbage: bytes, shelf: Shelf) -> None:
    before = fill(shelf)
    shelf.index.path.write_bytes(garbage)
    assert shelf.index.rows() == before


def test_a_missing_index_is_rebuilt_from_the_list_of_projects(shelf: Shelf) -> None:
    before = fill(shelf)
    shelf.index.path.unlink()
    assert shelf.index.rows() == before


def test_a_locked_index_costs_a_warning_and_nothing_else(shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    fill(shelf, 1)
    with closing(sqlite3.connect(shelf.index.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        shelf.add()
        other.execute("ROLLBACK")
    assert "cannot be used" in caplog.text
    assert len(shelf.index.rows()) == 1
    assert shelf.index.rebuild() == 2


def test_an_index_nobody_may_write_costs_a_warning_and_sessions_are_still_found(shelf: Shelf) -> None:
    shelf.agent_dir.write_text("a file where the agent directory should be")
    fill(shelf, 1)
    assert Sessions(shelf.place).find("0" * 16).latest.state.text == "said"


def test_a_session_of_another_project_is_found_through_the_index_and_without_it(shelf: Shelf, tmp_path: Path) -> None:
    fill(shelf, 1)
    elsewhere = Place(tmp_path, shelf.agent_dir, {})
    assert Sessions(elsewhere).find("0" * 16).latest.state.name == "task 0"
    shelf.lose_index()
    assert Sessions(elsewhere).find("0" * 16).latest.state.name == "task 0"


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


def test_two_processes_write_at_the_same_time_without_errors(shelf: Shelf) -> None:
    argv = [sys.executable, "-c", _WRITER, str(shelf.agent_dir), str(shelf.project)]
    writers = [subprocess.Popen([*argv, who, str(PATIENCE_S)], stderr=subprocess.PIPE) for who in ("a", "b")]
    assert [writer.communicate(timeout=PATIENCE_S)[1] for writer in writers] == [b"", b""]
    assert len(shelf.index.rows()) == 80


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


def test_rows_of_an_older_schema_are_kept(shelf: Shelf) -> None:
    before = fill(shelf)
    current = shelf.index.path.with_name("current")
    shelf.index.path.rename(current)
    with closing(sqlite3.connect(shelf.index.path, isolation_level=None)) as old:
        migrate(old, MIGRATIONS[:3])
        old.execute("PRAGMA application_id = 1")
        old.execute("ATTACH ? AS current", [str(current)])
        names = ", ".join(name for name in before[0] if name != "preset")
        old.execute(f"INSERT INTO main.runs ({names}) SELECT {names} FROM current.runs")
    for run_dir in shelf.folder.glob("2*"):
        run_dir.rename(shelf.project / run_dir.name)
    assert shelf.index.rows() == [
        {**row, "status": None} for row in before
    ]  # their journals know whether they had a preset


def test_the_index_and_the_list_of_projects_are_private(shelf: Shelf) -> None:
    fill(shelf, 1)
    modes = {path.name: path.stat().st_mode & 0o777 for path in shelf.index.path.parent.iterdir()}
    assert modes["index.sqlite3"] == 0o600
    assert modes["projects.jsonl"] == 0o600
