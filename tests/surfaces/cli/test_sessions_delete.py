"""`sessions delete`: what was named, after a yes, and nothing else."""

from __future__ import annotations

import pytest

from tests.kit.sessions import HOUR_S, Shelf
from tests.surfaces.cli.session_desk import Desk

SESSION = "a3f7b9c2d1e8f4a1"
OTHER = "beef0000d1e8f4a1"


def test_sessions_go_with_all_their_runs_and_their_rows(desk: Desk) -> None:
    for age_s in (30, 20):
        desk.shelf.add(name="unwanted", session_id=SESSION, age_s=age_s)
    run = desk.shelf.add(name="unwanted too", session_id=OTHER, age_s=2 * HOUR_S)
    kept = desk.shelf.add(name="kept", age_s=10)
    done = desk.run("delete", SESSION[:3], run.run_dir.name[:18], "-y")
    assert done.exit_code == 0
    assert done.out.splitlines()[-1].startswith("Deleted 2 sessions with 3 runs, ")
    assert desk.shelf.runs == [kept.run_dir.name]
    assert [row["name"] for row in desk.shelf.index.rows()] == ["kept"]


def test_a_session_that_is_named_twice_goes_once(desk: Desk) -> None:
    run_dir = desk.shelf.add(session_id="a" * 16).run_dir
    done = desk.run("delete", "aaaa", "a" * 16, "--yes")
    assert done.exit_code == 0, done.err
    assert done.out.count("aaaaaaaa  ") == 1
    assert "This will delete 1 session with 1 run, " in done.out
    assert not run_dir.exists()


def test_people_are_asked_first_and_see_what_would_go(desk: Desk) -> None:
    desk.shelf.add(name="precious", session_id=SESSION)
    no = desk.at_terminal("delete", SESSION, typed="n\n")
    assert "precious" in no.out
    assert "Delete this? [y/N]" in no.out
    assert (no.exit_code, len(desk.shelf.runs)) == (1, 1)
    assert desk.at_terminal("delete", SESSION, typed="y\n").exit_code == 0
    assert desk.shelf.runs == []


def test_without_a_terminal_nothing_goes_unless_it_was_agreed_to(desk: Desk) -> None:
    desk.shelf.add(session_id=SESSION)
    done = desk.run("delete", SESSION, stdin="y\n")
    assert done.exit_code == 2
    assert "This will delete 1 session with 1 run, " in done.out
    assert "confirm with --yes" in done.err
    assert len(desk.shelf.runs) == 1


def test_if_one_of_them_is_running_none_goes_and_it_is_said_what_to_do(desk: Desk) -> None:
    desk.shelf.add(session_id=OTHER)
    desk.shelf.add(session_id=SESSION, ends=None)
    done = desk.run("delete", OTHER, SESSION, "--yes")
    assert (done.exit_code, done.out) == (1, "")
    assert done.err == (
        "error: Session a3f7b9c2 is still running. Stop it first: 'pi-subagents sessions stop a3f7b9c2'.\n"
    )
    assert len(desk.shelf.runs) == 2


def test_a_foreign_record_is_never_deleted(desk: Desk) -> None:
    kept = desk.shelf.add(session_id=SESSION)
    journal = kept.run_dir / "events.jsonl"
    journal.rename(desk.root / "elsewhere")
    journal.symlink_to(desk.root / "elsewhere")
    done = desk.run("delete", SESSION, "--yes")
    assert (done.exit_code, done.out) == (1, "")
    assert "foreign record" in done.err
    assert (desk.root / "elsewhere").exists()
    assert len(desk.shelf.runs) == 1


@pytest.mark.parametrize("text", ["nothing", "a3f7"])
def test_what_is_unknown_or_ambiguous_deletes_nothing(desk: Desk, text: str) -> None:
    for session_id in (SESSION, f"{SESSION[:-1]}0"):
        desk.shelf.add(session_id=session_id)
    assert desk.run("delete", text, "--yes").exit_code == 1
    assert len(desk.shelf.runs) == 2


def test_a_session_of_another_project_goes_from_there(desk: Desk) -> None:
    other = Shelf(desk.root / "other", desk.shelf.agent_dir)
    other.add(session_id=SESSION)
    desk.shelf.add(session_id=OTHER)
    assert desk.run("delete", SESSION, "--yes").exit_code == 0
    assert (other.runs, len(desk.shelf.runs)) == ([], 1)


def test_a_beginning_deletes_nothing_in_another_project(desk: Desk) -> None:
    other = Shelf(desk.root / "other", desk.shelf.agent_dir)
    other.add(name="theirs", session_id=OTHER)
    done = desk.run("delete", "-y", OTHER[:6])
    assert done.exit_code == 1
    assert (
        f'Session {OTHER} ("theirs") belongs to {other.project}. To delete it from here, give its full id.' in done.err
    )
    assert len(other.runs) == 1
    assert desk.run("delete", "-y", OTHER).exit_code == 0
    assert other.runs == []
