"""`sessions delete` and `clean`: what is deleted, what is never deleted, and that people are asked."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from pi_subagents.errors import StoreError
from pi_subagents.models import Reason
from pi_subagents.paths import runs_dir
from pi_subagents.store import Lease
from tests.kit.command import called
from tests.kit.sessions import DAY_S, HOUR_S, Shelf, says
from tests.surfaces.cli.desk import Desk

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


@pytest.mark.parametrize("command", [("delete", SESSION), ("clean", "--older-than", "30d")], ids=["delete", "clean"])
def test_people_are_asked_first_and_see_what_would_go_or_say_yes_beforehand(
    desk: Desk, command: tuple[str, ...]
) -> None:
    desk.shelf.add(name="precious", session_id=SESSION, age_s=40 * DAY_S)
    piped = desk.run(*command, stdin="y\n")
    assert piped.exit_code == 2
    assert "This will delete 1 session with 1 run, " in piped.out
    assert "nothing was deleted, because there is no terminal to ask at; confirm with --yes" in piped.err
    no = desk.at_terminal(*command, typed="n\n")
    assert "precious" in no.out
    assert "Delete this? [y/N]" in no.out
    assert (no.exit_code, len(desk.shelf.runs)) == (1, 1)
    assert desk.at_terminal(*command, typed="y\n").exit_code == 0
    assert desk.shelf.runs == []
    desk.shelf.add(session_id=SESSION, age_s=40 * DAY_S)
    assert "Delete this?" not in desk.at_terminal(*command, "-y").out
    assert desk.shelf.runs == []


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


def test_old_sessions_go_with_all_their_runs_and_their_rows(desk: Desk) -> None:
    desk.shelf.add(says("x" * 100_000), name="old", age_s=40 * DAY_S, session_id=SESSION)
    desk.shelf.add(name="old", age_s=39 * DAY_S, session_id=SESSION)
    kept = desk.shelf.add(name="new", age_s=HOUR_S)
    done = desk.run("clean", "--older-than", "30d", "--yes")
    assert done.exit_code == 0
    assert desk.shelf.runs == [kept.run_dir.name]
    assert [row["name"] for row in desk.shelf.index.rows()] == ["new"]
    listed, announced, told = done.out.splitlines()
    assert re.fullmatch(rf"{SESSION[:8]} +5w ago +\d\d\d kB  2 runs  old", listed)
    assert re.fullmatch(r"This will delete 1 session with 2 runs, \d\d\d kB\.", announced)
    assert told == announced.replace("This will delete", "Deleted")


def test_runs_that_the_list_of_their_session_lacks_go_with_the_others(desk: Desk) -> None:
    for days in (43, 42, 41):
        desk.shelf.add(age_s=days * DAY_S, session_id=SESSION)
    (runs_dir(desk.project) / ".sessions" / SESSION).write_text(f"{desk.shelf.runs[1]}\n")
    done = desk.run("clean", "--older-than", "30d", "--yes")
    assert done.out.splitlines()[-1].startswith("Deleted 1 session with 3 runs")
    assert desk.shelf.runs == []
    assert desk.shelf.index.rows() == []


def test_a_dry_run_says_the_same_and_deletes_nothing(desk: Desk) -> None:
    desk.shelf.add(name="old", age_s=40 * DAY_S)
    done = desk.run("clean", "--older-than", "30d", "--dry-run")
    assert "This will delete 1 session with 1 run, " in done.out
    assert done.out.endswith("Nothing was deleted (--dry-run).\n")
    assert len(desk.shelf.runs) == 1
    assert len(desk.shelf.index.rows()) == 1


def test_the_newest_are_kept_however_old_they_are(desk: Desk) -> None:
    for days in (50, 40, 31):
        desk.shelf.add(name=str(days), age_s=days * DAY_S)
    desk.run("clean", "--older-than", "30d", "--keep", "2", "--yes")
    assert [row["name"] for row in desk.shelf.index.rows()] == ["31", "40"]
    desk.run("clean", "--keep", "1", "--yes")
    assert [row["name"] for row in desk.shelf.index.rows()] == ["31"]


def test_what_is_in_use_stays_and_is_named(desk: Desk) -> None:
    busy = desk.shelf.add(name="busy", age_s=40 * DAY_S, session_id=SESSION)
    desk.shelf.add(name="free", age_s=41 * DAY_S)
    claim = Lease.of_session(runs_dir(desk.project), SESSION)
    assert claim is not None
    done = desk.run("clean", "--older-than", "30d", "--yes")
    claim.release()
    assert done.exit_code == 1
    assert f"kept: Session {SESSION[:8]} is in use" in done.err
    assert desk.shelf.runs == [busy.run_dir.name]


def test_other_projects_are_cleaned_only_when_asked_for(desk: Desk) -> None:
    other = Shelf(desk.root / "other", desk.shelf.agent_dir)
    other.add(age_s=40 * DAY_S)
    assert desk.run("clean", "--older-than", "30d", "--yes").out == "Nothing to delete.\n"
    desk.run("clean", "--older-than", "30d", "--all", "--yes")
    assert other.runs == []


def test_it_has_to_be_said_what_may_go(desk: Desk) -> None:
    desk.shelf.add(age_s=4000 * DAY_S, ends=Reason.TIMEOUT)
    done = desk.run("clean")
    assert done.exit_code == 2
    assert "--older-than 30d, --keep 100, or both" in done.err
    assert len(desk.shelf.runs) == 1


def test_what_killed_programs_left_behind_goes_too(desk: Desk) -> None:
    desk.shelf.add(age_s=HOUR_S)
    draft = runs_dir(desk.project) / ".20260101T000000000-feedfeedfeedfeed.new"
    draft.mkdir()
    os.utime(draft, (0, 0))
    done = desk.run("clean", "--older-than", "30d", "--yes")
    assert done.out.splitlines()[-1].startswith("Deleted 1 leftover, ")
    assert not draft.exists()


def test_a_leftover_that_cannot_be_deleted_is_not_called_deleted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = runs_dir(desk.project) / ".20260101T000000000-feedfeedfeedfeed.gone"
    removed.mkdir(parents=True)

    def refuse(_path: Path) -> None:
        raise StoreError("cannot delete it")

    monkeypatch.setattr("pi_subagents.runs.retention.remove_leftover", refuse)
    monkeypatch.chdir(desk.project)
    done = called("sessions", "clean", "--older-than", "30d", "--yes")
    assert (done.exit_code, done.stderr) == (1, "error: cannot delete it\n")
    assert done.stdout.splitlines()[-1] == "Nothing was deleted."


def test_of_many_sessions_only_some_are_named(desk: Desk) -> None:
    for number in range(25):
        desk.shelf.add(name=str(number), age_s=40 * DAY_S + number)
    lines = desk.run("clean", "--older-than", "30d", "--yes").out.splitlines()
    assert lines[20] == "… and 5 more"
    assert desk.shelf.runs == []
