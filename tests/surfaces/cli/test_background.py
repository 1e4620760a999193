"""`background`: start, list, status, wait, logs, stop, attach, and the notice that comes once."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.store import load_run
from pi_subagents.testing import answer, prints
from pi_subagents.testing.agent import pauses, touches
from scripts.bootstrap import PROGRAMS
from tests.surfaces.cli.background_desk import BackgroundDesk
from tests.surfaces.cli.session_desk import TIMEOUT_S, until
from tests.surfaces.live.tmux import Terminal

_TMUX = next(program for program in PROGRAMS if program.apt_package == "tmux")
needs_tmux = pytest.mark.skipif(
    _TMUX.is_missing,
    reason=f"not run, because the program is not installed: {_TMUX.commands[0]} ({_TMUX.used_for})",
)
NOTICE = "Background agent"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[BackgroundDesk]:
    desk = BackgroundDesk(tmp_path)
    yield desk
    desk.close()


def interrupt(process: subprocess.Popen[str]) -> tuple[str, str]:
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=TIMEOUT_S)


# --- start and list -------------------------------------------------------------------------------------------


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
        (("nobody", "x"), 'Unknown preset: "nobody"'),
        (("worker", "x", "--model", "acme/lrge"), "acme/large"),
        (("worker", ""), "task"),
    ],
)
def test_what_cannot_be_started_is_one_sentence_and_no_run(
    desk: BackgroundDesk, arguments: tuple[str, ...], says: str
) -> None:
    done = desk.background("start", *arguments)
    assert (done.exit_code, done.out) == (1, "")
    assert says in done.err
    assert desk.run_dirs == []


def test_the_list_shows_queued_running_and_finished_runs(desk: BackgroundDesk) -> None:
    (desk.project / ".pi" / "settings.json").write_text(json.dumps({"subagents": {"maxBackground": 1}}))
    finished = desk.launch(prints(*answer("Hello")))
    desk.until_over(finished)
    running = desk.launch_patient()
    waiting = desk.launch(prints(*answer("Later")))
    lines = desk.background("list").out.splitlines()
    assert lines[0].split() == ["status", "name", "preset", "age", "time", "tokens", "run"]
    assert [line.split()[1] for line in lines[1:]] == ["queued", "running", "completed"]
    assert [line.split()[-1] for line in lines[1:]] == [waiting.name, running.name, finished.name]
    rows = desk.background("list", "--json").json()
    assert [row["runId"] for row in rows] == [waiting.name, running.name, finished.name]
    assert [row.get("queued", False) for row in rows] == [True, False, False]
    assert {row["preset"] for row in rows} == {"worker"}


def test_the_list_is_of_this_project_unless_all_are_asked_for(desk: BackgroundDesk) -> None:
    run_dir = desk.launch(prints(*answer("Hello")))
    other = desk.root / "other"
    (other / ".pi").mkdir(parents=True)
    start = desk.start("background", "list", cwd=other)
    out, err = start.communicate(timeout=TIMEOUT_S)
    assert out == ""
    assert f"No background runs in {other} yet" in err
    out, _ = desk.start("background", "list", "--all", cwd=other).communicate(timeout=TIMEOUT_S)
    assert run_dir.name in out
    assert str(desk.project) in out


# --- status and logs ------------------------------------------------------------------------------------------


def naming(run_dir: Path) -> list[str]:
    """All the ways to name a run."""
    session = run_dir.name.rpartition("-")[2]
    return [run_dir.name, run_dir.name[:20], session, session[:6]]


def test_a_run_is_found_by_its_id_its_session_and_the_beginning_of_either(desk: BackgroundDesk) -> None:
    run_dir = desk.launch(prints(*answer("The answer.")))
    desk.until_over(run_dir)
    for name in naming(run_dir):
        done = desk.background("status", name)
        assert done.exit_code == 0, name
        assert f"run      {run_dir.name}\n" in done.out
        assert "status   ✓ completed\n" in done.out
        assert done.out.endswith("\n\nThe answer.\n")
    assert desk.background("status", run_dir.name, "--json").json()["finalText"] == "The answer."


def test_an_ambiguous_or_unknown_run_is_said_to_be_so(desk: BackgroundDesk) -> None:
    first, second = desk.launch(prints(*answer("1"))), desk.launch(prints(*answer("2")))
    done = desk.background("status", first.name[:9])
    assert done.exit_code == 1
    assert "begins several run ids: " in done.err
    assert second.name in done.err
    done = desk.background("status", "20200101T000000000-feedfeedfeedfeed")
    assert (done.exit_code, done.out) == (1, "")
    assert "not found" in done.err
    assert "hint: 'pi-subagents background list --all'" in done.err


def test_logs_tell_what_was_done_and_with_f_go_on_to_the_end(desk: BackgroundDesk) -> None:
    run_dir = desk.launch_patient()
    done = desk.background("logs", run_dir.name)
    assert (done.exit_code, done.out) == (0, "")
    assert "Still running; -f shows the rest" in done.err
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
    assert "the run goes on" in err
    assert load_run(run_dir).status == "running"


# --- wait -----------------------------------------------------------------------------------------------------


def test_wait_ends_when_all_are_over_and_says_how_each_ended(desk: BackgroundDesk) -> None:
    first, second = desk.launch_patient(word="one"), desk.launch_patient(word="two")
    waiting = desk.start("background", "wait", first.name, second.name)
    desk.go("one")
    desk.until_over(first)
    assert waiting.poll() is None
    desk.go("two")
    out, err = waiting.communicate(timeout=TIMEOUT_S)
    assert waiting.returncode == 0
    assert [line.split()[0] for line in out.splitlines()] == [first.name, second.name]
    assert all(line.endswith("✓ completed") for line in out.splitlines())
    assert NOTICE not in err  # they were told already


def test_wait_has_exit_code_one_when_a_run_failed(desk: BackgroundDesk) -> None:
    good, bad = desk.launch(prints(*answer("Fine"))), desk.launch(["exit", 3])
    done = desk.background("wait", good.name, bad.name)
    assert done.exit_code == 1
    assert "✗ failed (exit) – Sub-agent exited with code 3" in done.out


def test_wait_for_any_ends_with_the_first(desk: BackgroundDesk) -> None:
    slow, quick = desk.launch_patient(word="slow"), desk.launch(prints(*answer("Quick")))
    done = desk.background("wait", "--any", slow.name, quick.name)
    assert done.exit_code == 0
    assert quick.name in done.out
    assert slow.name not in done.out


def test_wait_gives_up_with_124_when_the_time_is_up(desk: BackgroundDesk) -> None:
    run_dir = desk.launch_patient()
    for names in ((), (run_dir.name,)):  # without a name, all of them are meant
        done = desk.background("wait", "--timeout", "0.2", *names)
        assert (done.exit_code, done.out) == (124, "")
        assert "The time is up; 1 run not over yet." in done.err
    assert load_run(run_dir).status == "running"


def test_ctrl_c_ends_the_waiting_and_not_the_runs(desk: BackgroundDesk) -> None:
    run_dir = desk.launch_patient(word="one")
    over = desk.launch(prints(*answer("Hello")))
    waiting = desk.start("background", "wait", run_dir.name, over.name)
    assert waiting.stdout is not None
    assert over.name in waiting.stdout.readline()
    _, err = interrupt(waiting)
    assert waiting.returncode == 130
    assert "the runs go on" in err
    assert load_run(run_dir).status == "running"


def test_wait_without_anything_to_wait_for_says_so(desk: BackgroundDesk) -> None:
    done = desk.background("wait")
    assert (done.exit_code, done.out) == (0, "")
    assert "No background run of yours is active" in done.err


# --- stop -----------------------------------------------------------------------------------------------------


def test_stop_ends_a_run_and_one_that_still_waits_for_its_turn(desk: BackgroundDesk) -> None:
    (desk.project / ".pi" / "settings.json").write_text(json.dumps({"subagents": {"maxBackground": 1}}))
    running = desk.launch_patient()
    waiting = desk.launch(prints(*answer("Never")))
    for run_dir in (waiting, running):
        done = desk.background("stop", run_dir.name.rpartition("-")[2])
        assert (done.exit_code, done.out) == (0, f"Run {run_dir.name} is over: ✗ aborted (cancelled) – Cancelled\n")
        assert NOTICE not in done.err
    assert "is over already: ✗ aborted" in desk.background("stop", running.name).out


# --- attach ---------------------------------------------------------------------------------------------------


@pytest.fixture
def open_terminal(desk: BackgroundDesk) -> Iterator[Callable[[], Terminal]]:
    with ExitStack() as terminals:

        def opened() -> Terminal:
            terminal = Terminal(desk.project, desk.environ, 140, 24)
            terminals.callback(terminal.close)
            return terminal

        yield opened


@needs_tmux
def test_attach_shows_the_live_window_and_q_leaves_the_run_alone(
    desk: BackgroundDesk, open_terminal: Callable[[], Terminal]
) -> None:
    ready = desk.root / "ready"
    run_dir = desk.launch(prints(*answer("I am at work.")[:-2]), touches(ready), pauses(300))
    until(ready.exists, "the agent is at work")
    terminal = open_terminal()
    terminal.run("background", "attach", run_dir.name)
    terminal.until_shown("I am at work.")
    terminal.until_shown("x stop • q leave it running")
    terminal.press("q")
    assert f"Left running: {run_dir.name} goes on without you." in terminal.until_prompt()
    assert load_run(run_dir).status == "running"
    terminal.run("background", "attach", run_dir.name)
    terminal.until_shown("I am at work.")
    terminal.press("C-c")
    assert f"Left running: {run_dir.name} goes on without you." in terminal.until_prompt()
    assert load_run(run_dir).status == "running"
    terminal.run("background", "attach", run_dir.name)
    terminal.until_shown("I am at work.")
    terminal.press("x")
    assert f"Run {run_dir.name} is over: ✗ aborted (cancelled) – Cancelled" in terminal.until_prompt()
    assert load_run(run_dir).reason == "cancelled"


def test_attach_in_a_pipe_prints_lines_until_the_end(desk: BackgroundDesk) -> None:
    run_dir = desk.launch_patient()
    attached = desk.start("background", "attach", run_dir.name)
    assert attached.stderr is not None
    assert attached.stderr.readline().endswith(": Started\n")
    desk.go()
    out, err = attached.communicate(timeout=TIMEOUT_S)
    assert (attached.returncode, out) == (0, f"Run {run_dir.name} is over: ✓ completed\n")
    assert "Done at last." in err
    assert NOTICE not in err


# --- notices --------------------------------------------------------------------------------------------------


def test_an_end_is_told_once_by_the_next_command(desk: BackgroundDesk) -> None:
    run_dir = desk.launch(prints(*answer("Hello")))
    desk.until_over(run_dir)
    first = desk.background("list")
    assert first.err.count(f'{NOTICE} "worker" completed: ') == 1
    assert run_dir.name in first.err
    assert NOTICE not in first.out
    assert NOTICE not in desk.background("list").err
    assert NOTICE not in desk.call("run", "hello").err


def test_run_tells_of_an_end_too(desk: BackgroundDesk) -> None:
    run_dir = desk.launch(prints(*answer("Hello")))
    desk.until_over(run_dir)
    done = desk.call("run", "--json", "hello")
    assert run_dir.name in done.err
    assert NOTICE in done.err
    assert len(json.loads(done.out)) == 1


def test_racing_terminals_tell_every_end_once(desk: BackgroundDesk) -> None:
    runs = [desk.launch(prints(*answer(f"{number}"))) for number in range(4)]
    for run_dir in runs:
        desk.until_over(run_dir)
        (run_dir / "notified").unlink(missing_ok=True)  # the next start may have told of it
    commands = [desk.start("background", "list") for _ in range(6)]
    told = "".join(command.communicate(timeout=TIMEOUT_S)[1] for command in commands)
    assert [told.count(f"(run {run_dir.name},") for run_dir in runs] == [1] * 4


def test_a_run_of_somebody_else_is_not_announced_here(desk: BackgroundDesk) -> None:
    run_dir = desk.launch_patient()
    journal = run_dir / "events.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"owner":"terminal"', b'"owner":"elsewher"'))
    desk.go()
    desk.until_over(run_dir)
    desk.run("reindex")
    done = desk.background("list")
    assert run_dir.name in done.out
    assert NOTICE not in done.err


# --- the shell ------------------------------------------------------------------------------------------------


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
        assert found[1::3] == [newer.name, older.name]
    session = older.name.rpartition("-")[2]
    assert complete(desk, "status", session[:6])[1] == session
    assert complete(desk, "start", "wor")[1] == "worker"


@pytest.mark.parametrize("command", ["start", "list", "status", "wait", "logs", "stop", "attach"])
def test_help_names_the_exit_codes(desk: BackgroundDesk, command: str) -> None:
    assert "Exit code 0" in " ".join(desk.background(command, "--help").out.split())
