"""Whatever happens to the index, runs go on, sessions are found, and it comes back identical."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.models import Reason, Status
from pi_subagents.place import Place
from pi_subagents.runs.background import newest_runs
from pi_subagents.runs.forms import session_row
from pi_subagents.runs.sessions import Sessions, find_run_dir, sessions_beginning
from pi_subagents.store.index import MIGRATIONS, migrate
from tests.kit.sessions import Kept, Shelf, says
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


def test_a_locked_index_costs_a_warning_and_nothing_else(
    shelf: Shelf, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pi_subagents.store.index._BUSY_S", 0.05)
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
        names = ", ".join(name for name in before[0] if name not in ("preset", "harness", "knows_cost"))
        old.execute(f"INSERT INTO main.runs ({names}) SELECT {names} FROM current.runs")
    for run_dir in shelf.folder.glob("2*"):
        run_dir.rename(shelf.project / run_dir.name)
    assert shelf.index.rows() == [
        {**row, "status": None, "harness": None} for row in before
    ]  # their journals know whether they had a preset; there was only one agent


def test_the_index_and_the_list_of_projects_are_private(shelf: Shelf) -> None:
    fill(shelf, 1)
    modes = {path.name: path.stat().st_mode & 0o777 for path in shelf.index.path.parent.iterdir()}
    assert modes["index.sqlite3"] == 0o600
    assert modes["projects.jsonl"] == 0o600


# --- a row that cannot be true is not used: the record itself is read --------------------------------------------


SESSION = "a3f7b9c2d1e8f4a1"

ODD = [
    *("created_at = 'abc'", "created_at = -1", "created_at = 9223372036854775807", "started_at = 1.5"),
    *("completed_at = x'ff'", "tokens = 'abc'", "tokens = -7", "cost = 9e999", "cost = 'abc'", "tool_count = x'00'"),
    *("run_dir = '/etc'", "run_dir = 'relative'", "run_dir = ''", "run_dir = x'ff'", "run_dir = x'eda080'"),
    *("run_dir = CAST(x'ff' AS TEXT)", "run_dir = '/a/.pi/subagents/runs/20260101T000000000-feedfeedfeedfeed'"),
    *("name = x'ff'", "name = CAST(x'ff' AS TEXT)", "session_id = x'ff'", "session_id = 'another'"),
    *("status = x'ff'", "status = 'running'", "reason = x'ff'", "error = x'ff'", "profile = x'ff'"),
    *("owner = x'ff'", "background = 'abc'", "damaged = 'abc'"),
]


@pytest.fixture
def kept(shelf: Shelf) -> Kept:
    return shelf.add(says("Hi"), name="true", session_id=SESSION, age_s=9)


def change(shelf: Shelf, statement: str, parameters: Iterable[Any] = ()) -> None:
    with closing(sqlite3.connect(shelf.index.path, isolation_level=None)) as connection:
        connection.execute(statement, list(parameters))


@pytest.mark.parametrize("odd", ODD)
def test_the_session_is_listed_as_its_record_tells_it(odd: str, shelf: Shelf, kept: Kept) -> None:
    before = shelf.listed()
    change(shelf, f"UPDATE runs SET {odd}")
    for _ in range(2):
        assert list(map(session_row, shelf.listed())) == list(map(session_row, before))
    (session,) = before
    assert (session.state.name, session.state.status, session.state.usage.total_tokens, session.run_dir) == (
        *("true", Status.COMPLETED, 120),
        kept.run_dir,
    )


@pytest.mark.parametrize("odd", [*ODD, "project = x'ff'", "project = 'relative'", "project = '/etc'"])
def test_nothing_that_asks_the_index_stumbles(odd: str, shelf: Shelf, kept: Kept, tmp_path: Path) -> None:
    change(shelf, f"UPDATE runs SET {odd}")
    elsewhere = Place(tmp_path, shelf.agent_dir, {})
    assert newest_runs(shelf.place, 5, everywhere=True) == []
    assert find_run_dir(shelf.place, kept.run_dir.name) == kept.run_dir
    assert SESSION in [one.id for one in sessions_beginning(shelf.place)]
    assert Sessions(elsewhere).run_dirs(SESSION) == [kept.run_dir]
    assert shelf.index.rebuild() == 1
    assert [row["name"] for row in shelf.index.rows()] == ["true"]


FALSE_IDS = [
    *("x'ff'", "CAST(x'ff' AS TEXT)", "'nonsense'", "'3' || char(0)", "7"),
    *(f"{kind}'30000101T000000000-{SESSION}' AS {to})" for kind, to in (("CAST(", "BLOB"), ("CAST(", "TEXT"))),
    *("'30000101T000000000-feedfeedfeedfeed'", f"CAST(x'ff' AS TEXT) || '-{SESSION}'"),
]


@pytest.mark.parametrize("session_id", ["'feedfeedfeedfeed'", f"'{SESSION}'", "x'ff'"])
def test_rows_that_lead_to_no_run_hide_none(
    session_id: str, shelf: Shelf, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pi_subagents.runs.listing._PAGE", 1)
    for run_id in FALSE_IDS:
        columns = "project, run_dir, name, status"
        values = f"{run_id}, {session_id}, {columns}"
        change(shelf, f"INSERT INTO runs (run_id, session_id, {columns}) SELECT {values} FROM runs LIMIT 1")
    for _ in range(2):
        assert [session.run_dir for session in shelf.listed()] == [kept.run_dir]


# --- the list of projects: whatever stands in its place, nothing hangs or is led astray --------------------------


@pytest.fixture
def listed(shelf: Shelf) -> Path:
    """The list of projects, in the place of which there is nothing yet."""
    shelf.add(name="here", indexed=False)
    (shelf.agent_dir / "subagents").mkdir(parents=True)
    return shelf.agent_dir / "subagents" / "projects.jsonl"


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 * 1024**3)


IN_PLACE_OF_THE_LIST: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "huge": huge,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "dangling": lambda path: path.symlink_to(path.parents[2] / "precious"),
    "directory": Path.mkdir,
    "deep": lambda path: path.write_text("[" * 200_000),
    "digits": lambda path: path.write_text("9" * 200_000),
    "numbers": lambda path: path.write_text('7\nnull\n["/"]\n{}\n"\\u0000"\n"\\ud800"\n'),
    "bytes": lambda path: path.write_bytes(b'"\xff"\n\xff\n'),
}


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "new"])
@pytest.mark.parametrize("what", IN_PLACE_OF_THE_LIST)
def test_whatever_stands_in_its_place_the_project_at_hand_is_listed(
    what: str, indexed: bool, shelf: Shelf, listed: Path, tmp_path: Path
) -> None:
    if indexed:
        shelf.listed()
        listed.unlink()
    IN_PLACE_OF_THE_LIST[what](listed)
    for project in (shelf.project, None):
        assert [session.state.name for session in shelf.listed(project=project)] == ["here"]
    assert not (tmp_path / "precious").exists()


def test_a_line_that_is_no_project_hides_no_other(shelf: Shelf, listed: Path) -> None:
    lines = ["[" * 200_000, json.dumps(str(shelf.project)), "nonsense", '"."', '""']
    listed.write_text("\n".join(lines))
    assert shelf.index.projects() == [shelf.project]


def test_what_the_list_links_to_is_not_written(shelf: Shelf, listed: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    listed.symlink_to(tmp_path / "precious")
    shelf.add(name="another")
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_line_that_was_cut_short_spoils_only_itself(shelf: Shelf, listed: Path) -> None:
    listed.write_text('"/half')
    shelf.add(name="another")
    assert shelf.index.projects() == [shelf.project]
