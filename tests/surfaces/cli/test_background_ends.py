"""`background wait` and `stop`, and the notice of an end that comes once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pi_subagents.clock import now_ms
from pi_subagents.models import Reason, new_run_id, new_session_id
from pi_subagents.models import event as ev
from pi_subagents.outcome import ending
from pi_subagents.paths import runs_dir
from pi_subagents.runs import background
from pi_subagents.runs.background import TERMINAL, tell_ends
from pi_subagents.store import load_run, publish
from pi_subagents.surfaces.cli import ends
from pi_subagents.surfaces.cli.ends import tell_endings
from pi_subagents.testing import answer, prints, script
from tests.kit.sessions import Shelf
from tests.surfaces.cli.desk import TIMEOUT_S, Desk, interrupt, short

NOTICE = "Background agent"


def test_wait_ends_when_all_are_over_and_says_how_each_ended(desk: Desk) -> None:
    first, second = desk.launch_patient(word="one"), desk.launch_patient(word="two")
    waiting = desk.start_command("background", "wait", first.name, second.name)
    desk.go("one")
    desk.until_over(first)
    assert waiting.poll() is None
    desk.go("two")
    out, err = waiting.communicate(timeout=TIMEOUT_S)
    assert waiting.returncode == 0
    assert [line.split()[0] for line in out.splitlines()] == [short(first), short(second)]
    assert all(line.endswith("✓ completed") for line in out.splitlines())
    assert NOTICE not in err  # they were told already
    assert f"hint: see what it did with 'pi-subagents sessions show {short(first)}'" in err


def test_wait_has_exit_code_one_when_a_run_failed(desk: Desk) -> None:
    good, bad = desk.launch(prints(*answer("Fine"))), desk.launch(["exit", 3])
    done = desk.background("wait", good.name, bad.name)
    assert done.exit_code == 1
    assert "✗ failed (exit) – Sub-agent exited with code 3" in done.out


def test_wait_for_a_run_that_was_stopped_in_the_queue_of_a_program_that_still_holds_it(desk: Desk) -> None:
    run_dir = runs_dir(desk.project) / new_run_id(new_session_id())
    created = ev.Created(
        run_id=run_dir.name,
        session_id=run_dir.name[-16:],
        name="n",
        prompt="p",
        cwd=str(desk.project),
        harness="pi-json",
        background=True,
        owner="terminal",
    )
    record = publish(run_dir, {}, created)
    record.append([ending(Reason.CANCELLED, "Enough", now_ms())])
    done = desk.background("wait", run_dir.name)
    record.close()
    assert (done.exit_code, "Enough" in done.out) == (1, True)
    assert f"hint: see what it did with 'pi-subagents sessions show {short(run_dir)}'" in done.err


def test_wait_for_any_ends_with_the_first(desk: Desk) -> None:
    slow, quick = desk.launch_patient(word="slow"), desk.launch(prints(*answer("Quick")))
    done = desk.background("wait", "--any", slow.name, quick.name)
    assert done.exit_code == 0
    assert short(quick) in done.out
    assert short(slow) not in done.out


def test_wait_gives_up_with_124_when_the_time_is_up(desk: Desk) -> None:
    run_dir = desk.launch_patient()
    for names in ((), (run_dir.name,)):  # without a name, all of them are meant
        done = desk.background("wait", "--timeout", "0.2", *names)
        assert (done.exit_code, done.out) == (124, "")
        waiting, up = done.err.splitlines()
        assert waiting.startswith("waiting for 1 run: ")
        assert up == "Timed out waiting for 1 run."
    assert load_run(run_dir).status == "running"


def test_ctrl_c_ends_the_waiting_and_not_the_runs(desk: Desk) -> None:
    run_dir = desk.launch_patient(word="one")
    over = desk.launch(prints(*answer("Hello")))
    waiting = desk.start_command("background", "wait", run_dir.name, over.name)
    assert waiting.stdout is not None
    assert short(over) in waiting.stdout.readline()
    _, err = interrupt(waiting)
    assert waiting.returncode == 130
    assert "the runs continue" in err
    assert load_run(run_dir).status == "running"


def test_wait_tells_of_a_failure_that_came_before_it_once(desk: Desk) -> None:
    bad = desk.launch(["exit", 3])
    desk.until_over(bad)
    assert NOTICE not in desk.background("start", "worker", script(prints(*answer("Fine")))).err
    done = desk.background("wait")
    assert done.exit_code == 1
    assert [line.split("  ")[-1].split(" – ")[0] for line in done.out.splitlines()] == [
        "✗ failed (exit)",
        "✓ completed",
    ]
    again = desk.background("wait")
    assert (again.exit_code, again.out) == (0, "")
    assert "You have no active background runs" in again.err


def test_wait_for_programs_has_every_run_as_it_stands(desk: Desk) -> None:
    slow, bad = desk.launch_patient(), desk.launch(["exit", 3])
    done = desk.background("wait", "--any", "--json")
    assert done.exit_code == 1
    assert [(row["runId"], row["status"]) for row in done.json()] == [(slow.name, "running"), (bad.name, "failed")]
    desk.go()
    rest = desk.background("wait", "--json")
    assert (rest.exit_code, [row["finalText"] for row in rest.json()]) == (0, ["Done at last."])
    assert desk.background("wait", "--json").json() == []


def test_stop_ends_a_run_and_one_that_still_waits_for_its_turn(desk: Desk) -> None:
    desk.write_settings(maxBackground=1)
    running = desk.launch_patient()
    waiting = desk.launch(prints(*answer("Never")))
    for run_dir in (waiting, running):
        done = desk.background("stop", run_dir.name.rpartition("-")[2])
        assert (done.exit_code, done.out) == (0, f"Run {short(run_dir)} has ended: ✗ aborted (cancelled)\n")
        assert NOTICE not in done.err
    assert "has already ended: ✗ aborted" in desk.background("stop", running.name).out


def test_a_record_of_the_same_id_in_another_project_does_not_take_the_place_of_a_live_run(
    desk: Desk, tmp_path: Path
) -> None:
    run_dir = desk.launch_patient()
    other = Shelf(tmp_path / "other", desk.shelf.agent_dir)
    finished = other.add(name="finished", session_id=run_dir.name.rpartition("-")[2], indexed=False).run_dir
    finished.rename(finished.with_name(run_dir.name))
    assert "finished" in desk.run("list", cwd=other.project).out
    assert "running" in desk.background("status", run_dir.name).out
    assert desk.background("wait", run_dir.name, "--timeout", "0.1").exit_code == 124
    everywhere = {row["project"]: row["status"] for row in desk.run("list", "--all", "--json").json()}
    assert everywhere == {str(desk.project): "running", str(other.project): "completed"}
    assert "aborted (cancelled)" in desk.background("stop", run_dir.name).out
    assert load_run(run_dir).status == "aborted"


def test_an_end_is_told_once_by_the_next_command(desk: Desk) -> None:
    run_dir = desk.launch(prints(*answer("Hello")))
    desk.until_over(run_dir)
    first = desk.background("list")
    assert first.err.count(f'{NOTICE} "worker" completed: ') == 1
    assert f"({short(run_dir)})" in first.err
    assert NOTICE not in first.out
    assert NOTICE not in desk.background("list").err
    assert NOTICE not in desk.call("run", "hello").err
    second = desk.launch(prints(*answer("Hello")))
    desk.until_over(second)
    run = desk.call("run", "--json", "hello")  # which tells of it too
    assert run.err.count(NOTICE) == 1
    assert short(second) in run.err
    assert len(run.json()) == 1


def test_racing_terminals_tell_every_end_once(desk: Desk) -> None:
    runs = [desk.launch(prints(*answer(f"{number}"))) for number in range(4)]
    for run_dir in runs:
        desk.until_over(run_dir)
    commands = [desk.start_command("background", "list") for _ in range(6)]
    told = "".join(command.communicate(timeout=TIMEOUT_S)[1] for command in commands)
    assert [told.count(f"({short(run_dir)})") for run_dir in runs] == [1] * 4


def test_a_run_of_somebody_else_is_not_announced_here(desk: Desk) -> None:
    run_dir = desk.launch_patient()
    journal = run_dir / "events.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"owner":"terminal"', b'"owner":"elsewher"'))
    desk.go()
    desk.until_over(run_dir)
    desk.run("reindex")
    done = desk.background("list")
    assert short(run_dir) in done.out
    assert NOTICE not in done.err


_OVERLAP_S = 0.5


def test_the_second_waits_until_the_first_has_told_and_noted_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.until_over(desk.launch(prints(*answer("Hello"))))
    place = desk.place
    told: list[str] = []
    second = threading.Thread(target=tell_endings, args=(place,))

    def echo(message: str, **_: object) -> None:
        told.append(message)
        if len(told) == 1:
            second.start()
            second.join(_OVERLAP_S)  # enough for the second to tell it too, were it not held up

    monkeypatch.setattr(ends, "echo", echo)
    tell_endings(place)
    second.join()
    assert len(told) == 1


def test_an_end_is_noted_after_it_was_told_and_told_where_nothing_can_be_locked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.until_over(desk.launch(prints(*answer("Hello"))))
    told: list[str] = []

    def refuse(*_: object) -> None:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - the terminal has gone
        tell_ends(desk.place, TERMINAL, refuse)
    monkeypatch.setattr(background, "wait_for_file", refuse)
    tell_ends(desk.place, TERMINAL, told.append)
    tell_ends(desk.place, TERMINAL, told.append)
    assert len(told) == 1
