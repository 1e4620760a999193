"""`background start`, `list`, `status` and `logs`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.store import load_run
from pi_subagents.testing import answer, prints
from pi_subagents.testing.agent import pauses, touches
from tests.kit.waiting import until
from tests.surfaces.cli.background_desk import BackgroundDesk, interrupt, short
from tests.surfaces.cli.session_desk import TIMEOUT_S


@pytest.fixture
def desk(background_desk: BackgroundDesk) -> BackgroundDesk:
    return background_desk


def test_start_prints_the_run_and_the_agent_works_on_without_the_command(desk: BackgroundDesk) -> None:
    run_dir = desk.launch_patient()
    assert run_dir.is_dir()
    assert load_run(run_dir).status == "running"
    assert load_run(run_dir).owner == "terminal"
    desk.go()
    desk.until_over(run_dir)
    assert load_run(run_dir).text == "Done at last."


def test_start_as_json_has_the_run_and_the_counts_and_a_task_can_come_from_a_pipe(desk: BackgroundDesk) -> None:
    elsewhere = desk.root / "else where"
    elsewhere.mkdir()
    done = desk.background("start", "worker", "-", "--cwd", str(elsewhere), "--json", stdin="from a pipe")
    document = done.json()
    assert document["counts"]["total"] == 1
    assert document["run"]["task"] == "from a pipe"
    assert document["run"]["cwd"] == str(elsewhere)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("wroker", "x"), 'Unknown preset: "wroker". Available presets: deaf, worker. Did you mean "worker"?'),
        (("worker", "x", "--model", "acme/lrge"), "acme/large"),
        (("worker", ""), "prompt is empty"),
    ],
)
def test_what_cannot_be_started_is_one_sentence_and_no_run(
    desk: BackgroundDesk, arguments: tuple[str, ...], says: str
) -> None:
    done = desk.background("start", *arguments)
    assert (done.exit_code, done.out) == (2, "")
    assert says in done.err
    assert desk.run_dirs == []


def test_the_list_shows_queued_running_and_finished_runs(desk: BackgroundDesk) -> None:
    (desk.project / ".pi" / "settings.json").write_text(json.dumps({"subagents": {"maxBackground": 1}}))
    finished = desk.launch(prints(*answer("Hello")))
    desk.until_over(finished)
    running = desk.launch_patient()
    waiting = desk.launch(prints(*answer("Later")))
    head, *lines, total = desk.background("list").out.splitlines()
    assert head.split() == ["status", "name", "run", "agent", "age", "time", "tokens", "cost"]
    assert [line.split()[1] for line in lines] == ["completed", "running", "queued"]  # the newest nearest to the prompt
    assert [line.split()[-6:-4] for line in lines[:2]] == [[short(finished), "worker"], [short(running), "worker"]]
    assert short(waiting) in lines[2]
    assert total.startswith("3 runs, ")
    rows = desk.background("list", "--json").json()
    assert [row["runId"] for row in rows] == [waiting.name, running.name, finished.name]
    assert [row.get("queued", False) for row in rows] == [True, False, False]
    assert {row["preset"] for row in rows} == {"worker"}
    assert {row["preset"] for row in desk.run("list", "--json").json()} == {"worker"}


def test_the_list_is_of_this_project_unless_all_are_asked_for(desk: BackgroundDesk) -> None:
    run_dir = desk.launch(prints(*answer("Hello")))
    other = desk.root / "other"
    (other / ".pi").mkdir(parents=True)
    start = desk.start("background", "list", cwd=other)
    out, err = start.communicate(timeout=TIMEOUT_S)
    assert out == ""
    assert f"No background runs in {other} yet" in err
    out, _ = desk.start("background", "list", "--all", cwd=other).communicate(timeout=TIMEOUT_S)
    assert short(run_dir) in out
    assert str(desk.project) in out


def naming(run_dir: Path) -> list[str]:
    """All the ways to name a run."""
    session = run_dir.name.rpartition("-")[2]
    return [run_dir.name, run_dir.name[:20], session, session[:8], session[:2]]


def test_a_run_is_found_by_its_id_its_session_and_the_beginning_of_either(desk: BackgroundDesk) -> None:
    run_dir = desk.launch(prints(*answer("The answer.")))
    desk.until_over(run_dir)
    for name in naming(run_dir):
        done = desk.background("status", name)
        assert done.exit_code == 0, name
        assert f"run      {short(run_dir)}\n" in done.out
        assert f"record   {run_dir}\n" in done.out
        assert "status   ✓ completed\n" in done.out
        assert done.out.endswith("\n\nThe answer.\n")
    assert desk.background("status", run_dir.name, "--json").json()["finalText"] == "The answer."


def test_an_ambiguous_or_unknown_run_is_said_to_be_so(desk: BackgroundDesk) -> None:
    first, second = desk.launch(prints(*answer("1"))), desk.launch(prints(*answer("2")))
    done = desk.background("status", first.name[:9])
    assert done.exit_code == 1
    assert "matches 2 run ids; give a longer prefix:\n" in done.err
    assert [line.split()[:3:2] for line in done.err.splitlines() if line.startswith("  ")] == [
        [run_dir.name[:18], "ago"] for run_dir in (second, first)
    ]
    done = desk.background("status", "20200101T000000000-feedfeedfeedfeed")
    assert (done.exit_code, done.out) == (1, "")
    assert "not found" in done.err
    assert "hint: 'pi-subagents background list --all' lists all background runs" in done.err


def test_logs_tell_what_was_done_and_with_f_go_on_to_the_end(desk: BackgroundDesk) -> None:
    run_dir = desk.launch_patient()
    done = desk.background("logs", run_dir.name)
    assert (done.exit_code, done.out) == (0, "")
    assert "Still running; use -f to follow it." in done.err
    following = desk.start("background", "logs", "-f", run_dir.name)
    desk.go()
    out, _ = following.communicate(timeout=TIMEOUT_S)
    assert following.returncode == 0
    assert out == "Done at last.\nCompleted\n"
    assert desk.background("logs", run_dir.name).out == out


def test_ctrl_c_ends_the_following_and_not_the_run(desk: BackgroundDesk) -> None:
    ready = desk.root / "ready"
    run_dir = desk.launch(prints(*answer("Hello")[:-2]), touches(ready), pauses(300))
    until(ready.exists, "the agent is at work")
    following = desk.start("background", "logs", "-f", run_dir.name)
    assert following.stdout is not None
    assert following.stdout.readline() == "Hello\n"
    _, err = interrupt(following)
    assert following.returncode == 130
    assert "the run continues" in err
    assert load_run(run_dir).status == "running"


def complete(desk: BackgroundDesk, *words: str) -> list[str]:
    line = ["pi-subagents", "background", *words]
    variables: dict[str, Any] = {
        "_PI_SUBAGENTS_COMPLETE": "zsh_complete",
        "COMP_WORDS": " ".join(line),
        "COMP_CWORD": str(len(line) - 1),
    }
    done = desk.call(variables=variables)
    assert done.err == ""
    return done.out.splitlines()


def test_ids_and_presets_are_completed(desk: BackgroundDesk) -> None:
    older = desk.launch(prints(*answer("1")))
    newer = desk.launch(prints(*answer("2")))
    for command in ("status", "wait", "logs", "stop", "attach"):
        found = complete(desk, command, "")
        assert found[1::3] == [short(newer), short(older)]
    session = older.name.rpartition("-")[2]
    assert complete(desk, "status", session[:6])[1] == short(older)
    assert complete(desk, "status", session[:10])[1] == session
    assert complete(desk, "status", older.name[:20])[1::3] == [older.name]
    assert complete(desk, "start", "wor")[1] == "worker"


@pytest.mark.parametrize("command", ["start", "list", "status", "wait", "logs", "stop", "attach"])
def test_help_names_the_exit_codes(desk: BackgroundDesk, command: str) -> None:
    assert "Exit code 0" in " ".join(desk.background(command, "--help").out.split())
