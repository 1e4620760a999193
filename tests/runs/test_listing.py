"""Which sessions there are: true whatever state the index is in, and quick however many there are."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.clock import now_ms
from pi_subagents.models import Reason, Status
from pi_subagents.runs.listing import used_by
from pi_subagents.store import JOURNAL_FILE, Index
from pi_subagents.store.index import MIGRATIONS, migrate
from tests.kit.sessions import DAY_S, HOUR_S, Shelf, says


def names(shelf: Shelf, **wanted: Any) -> list[str]:
    return [session.state.name for session in shelf.listed(**wanted)]


def test_sessions_are_listed_newest_first_each_once_with_its_latest_run(shelf: Shelf) -> None:
    shelf.add(name="old", age_s=5 * HOUR_S)
    resumed = shelf.add(name="first", age_s=4 * HOUR_S, session_id="aaaabbbbccccdddd")
    shelf.add(name="middle", age_s=3 * HOUR_S)
    shelf.add(says("Hi"), name="again", age_s=2 * HOUR_S, session_id=resumed.session_id)
    found = shelf.listed()
    assert [(session.state.name, session.run_count) for session in found] == [("again", 2), ("middle", 1), ("old", 1)]
    state = found[0].state
    assert (state.usage.total_tokens, state.usage.cost) == (120, 0.01)
    assert (state.model, state.status) == ("scripted", "completed")


def test_what_a_session_used_is_what_all_its_runs_used_known_to_the_index_or_not(shelf: Shelf) -> None:
    for age_s, indexed in ((40, True), (30, False), (20, True)):
        shelf.add(says("Hi"), age_s=age_s, session_id="aaaabbbbccccdddd", indexed=indexed)
    (session,) = shelf.listed()
    (used,) = used_by(shelf.place, [session])
    assert (session.state.usage.total_tokens, used.tokens, used.tool_count) == (120, 360, 0)
    assert used.cost == pytest.approx(0.03)


def test_a_preset_that_an_older_index_could_not_keep_is_read_from_the_journal_once(shelf: Shelf) -> None:
    shelf.add(name="with a preset", preset="scout", profile=None)
    shelf.index.path.unlink()
    with closing(sqlite3.connect(shelf.index.path, isolation_level=None)) as old:
        migrate(old, MIGRATIONS[:4])
        old.execute("PRAGMA application_id = 1")
        place = {"run_id": shelf.runs[0], "session_id": shelf.runs[0][-16:], "project": str(shelf.project)}
        facts = {**place, "run_dir": str(shelf.folder / shelf.runs[0]), "name": "?", "status": "completed"}
        old.execute(
            f"INSERT INTO runs ({', '.join(facts)}) VALUES ({', '.join('?' * len(facts))})", list(facts.values())
        )
    assert names(shelf, agent="reviewer") == []
    assert names(shelf, agent="scout") == ["with a preset"]
    assert [(row["preset"], row["status"]) for row in shelf.index.rows()] == [("scout", "completed")]


def test_conditions_are_on_the_latest_run(shelf: Shelf) -> None:
    shelf.add(name="failed once", age_s=9, session_id="aaaabbbbccccdddd", ends=Reason.TIMEOUT)
    shelf.add(name="then completed", age_s=8, session_id="aaaabbbbccccdddd")
    shelf.add(name="failed", age_s=2 * DAY_S, ends=Reason.LOOP, profile="p")
    shelf.add(name="aborted", age_s=7, ends=Reason.CANCELLED, profile="p")
    shelf.add(name="running", age_s=6, ends=None)
    assert names(shelf, status=Status.FAILED) == ["failed"]
    assert names(shelf, status=Status.ABORTED) == ["aborted"]
    assert names(shelf, status=Status.COMPLETED) == ["then completed"]
    assert names(shelf, status=Status.RUNNING) == ["running"]
    assert names(shelf, agent="p") == ["aborted", "failed"]
    assert names(shelf, since=now_ms() - DAY_S * 1000) == ["running", "aborted", "then completed"]
    assert names(shelf, limit=2) == ["running", "aborted"]


def test_other_projects_are_listed_only_when_asked_for(shelf: Shelf, tmp_path: Path) -> None:
    other = Shelf(tmp_path / "other", shelf.agent_dir)
    shelf.add(name="here", age_s=2)
    other.add(name="there", age_s=1)
    assert names(shelf) == ["here"]
    assert names(shelf, project=other.project) == ["there"]
    assert names(shelf, project=None) == ["there", "here"]


def test_a_run_that_lost_its_holder_is_closed_and_the_index_told(shelf: Shelf) -> None:
    kept = shelf.add(name="lost", ends=None)
    assert names(shelf, status=Status.RUNNING) == ["lost"]
    kept.let_go()
    assert names(shelf, status=Status.RUNNING) == []
    assert names(shelf, status=Status.FAILED) == ["lost"]
    (row,) = shelf.index.rows()
    assert (row["status"], row["reason"]) == ("failed", "lost")


def test_a_run_whose_end_the_index_missed_is_shown_as_it_is(shelf: Shelf) -> None:
    shelf.add(name="done", indexed_as_running=True)
    assert names(shelf, status=Status.COMPLETED) == ["done"]
    assert [row["status"] for row in shelf.index.rows()] == ["completed"]


def test_a_run_that_the_index_never_heard_of_is_listed_and_recorded(shelf: Shelf) -> None:
    shelf.add(name="known", age_s=20)
    shelf.add(name="missed", age_s=10, indexed=False)
    assert names(shelf) == ["missed", "known"]
    assert len(shelf.index.rows()) == 2


def test_a_project_from_another_machine_is_listed_whole(shelf: Shelf) -> None:
    for number in range(40):
        shelf.add(
            name=str(number), age_s=100 - number, indexed=False, ends=Reason.TIMEOUT if number == 1 else Reason.SETTLED
        )
    assert names(shelf, status=Status.FAILED) == ["1"]


def test_a_project_new_to_the_index_is_there_at_the_first_look_at_all(shelf: Shelf) -> None:
    shelf.add(name="copied", indexed=False)
    assert names(shelf, project=None) == ["copied"]


@pytest.mark.parametrize("damage", ["locked out", "a directory"])
def test_without_an_index_the_disk_is_listed(shelf: Shelf, damage: str) -> None:
    resumed = shelf.add(name="a", age_s=9, ends=Reason.TIMEOUT, indexed=False)
    shelf.add(name="b", age_s=8, indexed=False)
    shelf.add(name="c", age_s=7, ends=Reason.TIMEOUT, session_id=resumed.session_id, indexed=False)
    shelf.agent_dir.mkdir()
    if damage == "a directory":
        shelf.index.path.mkdir(parents=True)
    else:
        (shelf.agent_dir / "subagents").write_text("in the way")
    assert names(shelf) == ["c", "b"]
    assert names(shelf, project=None) == ["c", "b"]
    assert names(shelf, status=Status.FAILED) == ["c"]
    assert names(shelf, limit=1) == ["c"]


def test_without_an_index_other_projects_are_listed_from_the_disk_too(shelf: Shelf, tmp_path: Path) -> None:
    Shelf(tmp_path / "other", shelf.agent_dir).add(name="there")
    shelf.lose_index()
    assert names(shelf, project=None) == ["there"]


def test_what_was_deleted_by_hand_is_not_listed_and_forgotten(shelf: Shelf) -> None:
    shelf.add(name="kept", age_s=2)
    gone = shelf.add(name="gone", age_s=1)
    shutil.rmtree(gone.run_dir)
    assert names(shelf) == ["kept"]
    assert [row["name"] for row in shelf.index.rows()] == ["kept"]


def test_a_project_that_is_not_there_now_is_hidden_but_not_forgotten(shelf: Shelf, tmp_path: Path) -> None:
    other = Shelf(tmp_path / "other", shelf.agent_dir)
    other.add(name="on a stick")
    other.project.rename(tmp_path / "unplugged")
    assert names(shelf, project=None) == []
    (tmp_path / "unplugged").rename(other.project)
    assert names(shelf, project=None) == ["on a stick"]


def test_finished_sessions_are_listed_without_opening_their_journals(shelf: Shelf) -> None:
    for number in range(200):
        shelf.add(name=str(number), age_s=1000 - number)
    for journal in shelf.project.glob(f"**/{JOURNAL_FILE}"):
        journal.unlink()
    assert names(shelf, limit=5) == ["199", "198", "197", "196", "195"]


def test_the_index_is_read_along_its_key_and_not_sorted(shelf: Shelf) -> None:
    # With a sort, every row would be read for every page: with 10,000 sessions that is felt.
    shelf.add()
    statements: list[str] = []
    connect = sqlite3.connect

    class Traced(sqlite3.Connection):
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # passed on as they came
            self.set_trace_callback(statements.append)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *args, **kwargs: connect(*args, factory=Traced, **kwargs))
        names(shelf)
    (query,) = [statement for statement in statements if "NOT EXISTS" in statement][:1]
    with connect(Index(shelf.agent_dir).path) as connection:
        plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}"))
    connection.close()
    assert "TEMP B-TREE" not in plan
    assert "runs_by_session" in plan
