"""A row of the index that cannot be true is not used: the record itself is read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.models import Status
from pi_subagents.place import Place
from pi_subagents.runs.background import newest_runs
from pi_subagents.runs.forms import session_row
from pi_subagents.runs.sessions import Sessions, find_run_dir, sessions_beginning
from tests.kit.sessions import Kept, Shelf, says

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
