"""A repository that ships records of its own: commands show whose they are, and write, delete and start nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi_subagents.paths import runs_dir
from tests.kit.sessions import DAY_S, says
from tests.surfaces.cli.desk import Desk

SESSION = "a3f7b9c2d1e8f4a1"
WORDS = "foreign record, not ours"
COMMANDS = (
    ("list",),
    ("list", "--all", "--json"),
    ("show", SESSION),
    ("show", SESSION, "--json"),
    ("show", SESSION, "--follow"),
    ("output", SESSION),
    ("export", SESSION, "-o", "-"),
    ("resume", SESSION, "Go on"),
    ("stop", SESSION),
    ("clean", "--keep", "0", "-y"),
    ("reindex",),
)


@pytest.fixture
def bashrc(desk: Desk) -> Path:
    path = desk.home / ".bashrc"
    path.write_text("precious")
    return path


def tree(*folders: Path) -> dict[Path, tuple[int, int]]:
    paths = [path for folder in folders for path in [folder, *folder.rglob("*")]]
    return {path: (path.lstat().st_size, path.lstat().st_mtime_ns) for path in paths}


@pytest.mark.parametrize("name", ["events.jsonl", "lease", "result.json", ".result.json.new"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_writes_through_a_link_in_a_record(
    command: tuple[str, ...], name: str, desk: Desk, bashrc: Path
) -> None:
    kept = desk.shelf.add(says("Hello"), session_id=SESSION, ends=None, indexed=False, age_s=40 * DAY_S)
    kept.let_go()
    (kept.run_dir / name).unlink(missing_ok=True)
    (kept.run_dir / name).symlink_to(bashrc)
    before = tree(kept.run_dir)
    done = desk.run(*command)
    assert "Traceback" not in done.err
    assert bashrc.read_text() == "precious"
    if name.startswith("."):  # a name that we do not use does not make a record foreign
        return
    assert tree(kept.run_dir) == before
    assert [path.name for path in desk.home.iterdir() if path.is_file()] == [".bashrc"]


def test_the_words_stand_in_list_show_output_and_json(desk: Desk, bashrc: Path) -> None:
    kept = desk.shelf.add(says("Hello"), session_id=SESSION, name="shipped", ends=None)
    kept.let_go()
    (kept.run_dir / "stop").symlink_to(bashrc)
    assert f"[{WORDS}] shipped" in desk.run("list").out
    (row,) = desk.run("list", "--json").json()
    assert (row["status"], row["name"]) == ("failed", f"[{WORDS}] shipped")
    assert row["error"].startswith(f"Unfinished; {WORDS}: stop is a link")
    shown = desk.run("show", SESSION)
    assert (shown.exit_code, WORDS in shown.out, "Hello" in shown.out) == (0, True, True)
    assert WORDS in desk.run("show", SESSION, "--json").out
    output = desk.run("output", SESSION)
    assert (output.exit_code, output.out) == (1, "Hello\n")
    assert WORDS in output.err
    resumed = desk.run("resume", SESSION, "Go on")
    assert (resumed.exit_code, WORDS in resumed.err) == (1, True)
    assert len(list(runs_dir(desk.project).glob("2*"))) == 1


@pytest.mark.parametrize("name", [".pi/subagents", ".pi/subagents/runs"])
def test_a_call_behind_a_link_starts_nothing_and_deletes_nothing(name: str, desk: Desk, tmp_path: Path) -> None:
    kept = [desk.shelf.add(age_s=40 * DAY_S, indexed=False) for _ in range(2)]
    (desk.shelf.agent_dir / "settings.json").parent.mkdir(parents=True, exist_ok=True)
    (desk.shelf.agent_dir / "settings.json").write_text('{"subagents": {"keepSessions": 0, "keepRunsDays": 1}}')
    (desk.project / name).rename(tmp_path / "moved")
    (desk.project / name).symlink_to(tmp_path / "moved")
    before = tree(tmp_path / "moved")
    run = desk.call("run", "[]")
    assert run.exit_code == 1
    assert f"{desk.project / name} is a link" in run.err
    assert "work in another directory" in run.err
    cleaned = desk.run("clean", "--keep", "0", "-y")
    assert cleaned.out == "Nothing to delete.\n"
    assert cleaned.err.count("is a link") == 1
    assert tree(tmp_path / "moved") == before
    assert len(kept) == 2


def test_cleaning_deletes_no_checkout_that_a_list_of_a_session_names(desk: Desk) -> None:
    kept = desk.shelf.add(session_id=SESSION, age_s=40 * DAY_S)
    names = f"/proc/self/cwd/../{desk.project.name}\n{kept.run_dir.name}\n"
    (runs_dir(desk.project) / ".sessions" / SESSION).write_text(names)
    (desk.project / "precious").touch()
    done = desk.run("clean", "--keep", "0", "-y")
    assert (done.exit_code, done.err) == (0, "")
    assert (desk.project / "precious").exists()
    assert not kept.run_dir.exists()


def test_doctor_names_foreign_records_and_what_stands_in_the_way(desk: Desk, bashrc: Path) -> None:
    kept = desk.shelf.add(session_id=SESSION)
    os.link(bashrc, kept.run_dir / "stop")
    told = desk.call("doctor").out
    assert f"1 foreign: {kept.run_dir.name}" in told
    assert WORDS in told
    (desk.project / ".pi" / "subagents").rename(desk.root / "moved")
    (desk.project / ".pi" / "subagents").symlink_to(desk.root / "moved")
    before = tree(desk.root / "moved")
    doctor = desk.call("doctor")
    assert "is a link" in doctor.out
    assert doctor.exit_code == 1
    assert tree(desk.root / "moved") == before
