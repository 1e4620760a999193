"""`background start`, `list`, `status`, `logs` and `attach`, and `run --background`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pi_subagents.store import load_run
from pi_subagents.testing import answer, prints, script
from pi_subagents.testing.agent import pauses, touches
from scripts.bootstrap import PROGRAMS
from tests.kit.waiting import until
from tests.surfaces.cli.desk import TIMEOUT_S, Desk, interrupt, short
from tests.surfaces.live.tmux import Terminal


def test_start_prints_the_run_and_the_agent_works_on_without_the_command(desk: Desk) -> None:
    run_dir = desk.launch_patient()
    assert run_dir.is_dir()
    assert load_run(run_dir).status == "running"
    assert load_run(run_dir).owner == "terminal"
    desk.go()
    desk.until_over(run_dir)
    assert load_run(run_dir).text == "Done at last."


def test_start_as_json_has_the_run_and_the_counts_and_a_task_can_come_from_a_pipe(desk: Desk) -> None:
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
        (("gemini", "x"), 'gemini is an agent, not a profile: pi-subagents run --background --agent gemini "…"'),
        (("worker", "x", "--model", "acme/lrge"), "acme/large"),
        (("worker", ""), "prompt is empty"),
    ],
)
def test_what_cannot_be_started_is_one_sentence_and_no_run(desk: Desk, arguments: tuple[str, ...], says: str) -> None:
    done = desk.background("start", *arguments)
    assert (done.exit_code, done.out) == (2, "")
    assert says in done.err
    assert desk.run_dirs == []


def test_the_list_shows_queued_running_and_finished_runs(desk: Desk) -> None:
    desk.write_settings(maxBackground=1)
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


def test_the_list_is_of_this_project_unless_all_are_asked_for(desk: Desk) -> None:
    run_dir = desk.launch(prints(*answer("Hello")))
    other = desk.root / "other"
    (other / ".pi").mkdir(parents=True)
    here = desk.call("background", "list", cwd=other)
    assert here.out == ""
    assert f"No background runs in {other} yet" in here.err
    everywhere = desk.call("background", "list", "--all", cwd=other).out
    assert short(run_dir) in everywhere
    assert str(desk.project) in everywhere


def naming(run_dir: Path) -> list[str]:
    """All the ways to name a run."""
    session = run_dir.name.rpartition("-")[2]
    return [run_dir.name, run_dir.name[:20], session, session[:8], session[:2]]


def test_a_run_is_found_by_its_id_its_session_and_the_beginning_of_either(desk: Desk) -> None:
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


def test_an_ambiguous_or_unknown_run_is_said_to_be_so(desk: Desk) -> None:
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


def test_logs_tell_what_was_done_and_with_f_go_on_to_the_end(desk: Desk) -> None:
    run_dir = desk.launch_patient()
    done = desk.background("logs", run_dir.name)
    assert (done.exit_code, done.out) == (0, "")
    assert "Still running; use -f to follow it." in done.err
    following = desk.start_command("background", "logs", "-f", run_dir.name)
    desk.go()
    out, _ = following.communicate(timeout=TIMEOUT_S)
    assert following.returncode == 0
    assert out == "Done at last.\nCompleted\n"
    assert desk.background("logs", run_dir.name).out == out


def test_ctrl_c_ends_the_following_and_not_the_run(desk: Desk) -> None:
    ready = desk.root / "ready"
    run_dir = desk.launch(prints(*answer("Hello")[:-2]), touches(ready), pauses(300))
    until(ready.exists, "the agent is at work")
    following = desk.start_command("background", "logs", "-f", run_dir.name)
    assert following.stdout is not None
    assert following.stdout.readline() == "Hello\n"
    _, err = interrupt(following)
    assert following.returncode == 130
    assert "the run continues" in err
    assert load_run(run_dir).status == "running"


def test_ids_and_presets_are_completed(desk: Desk) -> None:
    older = desk.launch(prints(*answer("1")))
    newer = desk.launch(prints(*answer("2")))
    for command in ("status", "wait", "logs", "stop", "attach"):
        found = desk.complete("background", command, "")
        assert found[1::3] == [short(newer), short(older)]
    session = older.name.rpartition("-")[2]
    assert desk.complete("background", "status", session[:6])[1] == short(older)
    assert desk.complete("background", "status", session[:10])[1] == session
    assert desk.complete("background", "status", older.name[:20])[1::3] == [older.name]
    assert desk.complete("background", "start", "wor")[1] == "worker"


_TMUX = next(program for program in PROGRAMS if program.apt_package == "tmux")
needs_tmux = pytest.mark.skipif(
    _TMUX.is_missing,
    reason=f"not run, because the program is not installed: {_TMUX.commands[0]} ({_TMUX.used_for})",
)
NOTICE = "Background agent"


@pytest.fixture
def open_terminal(desk: Desk) -> Iterator[Callable[[], Terminal]]:
    with ExitStack() as terminals:

        def opened() -> Terminal:
            terminal = Terminal(desk.project, desk.environ, 140, 24)
            terminals.callback(terminal.close)
            return terminal

        yield opened


@needs_tmux
def test_attach_shows_the_live_window_and_q_leaves_the_run_alone(
    desk: Desk, open_terminal: Callable[[], Terminal]
) -> None:
    ready = desk.root / "ready"
    run_dir = desk.launch(prints(*answer("I am at work.")[:-2]), touches(ready), pauses(300))
    until(ready.exists, "the agent is at work")
    terminal = open_terminal()
    terminal.run("background", "attach", run_dir.name)
    terminal.until_shown("I am at work.")
    terminal.until_shown("x stop • q leave it running")
    terminal.press("q")
    assert f"Run {short(run_dir)} is still running." in terminal.until_prompt()
    assert load_run(run_dir).status == "running"
    terminal.run("background", "attach", run_dir.name)
    terminal.until_shown("I am at work.")
    terminal.press("C-c")
    assert f"Run {short(run_dir)} is still running." in terminal.until_prompt()
    assert load_run(run_dir).status == "running"
    terminal.run("background", "attach", run_dir.name)
    terminal.until_shown("I am at work.")
    terminal.press("x")
    terminal.until_shown("? y yes • any other key no")
    terminal.press("y")
    assert f"Run {short(run_dir)} has ended: ✗ aborted (cancelled)" in terminal.until_prompt()
    assert load_run(run_dir).reason == "cancelled"


def test_attach_in_a_pipe_prints_lines_until_the_end(desk: Desk) -> None:
    run_dir = desk.launch_patient()
    attached = desk.start_command("background", "attach", run_dir.name)
    assert attached.stderr is not None
    assert attached.stderr.readline().endswith(": Started\n")
    desk.go()
    out, err = attached.communicate(timeout=TIMEOUT_S)
    assert (attached.returncode, out) == (0, f"Run {short(run_dir)} has ended: ✓ completed\n")
    assert "Done at last." in err
    assert NOTICE not in err


def test_every_task_becomes_a_background_run_and_its_id_is_printed(desk: Desk) -> None:
    desk.write_profile("p", "description: P.", "model: large", "provider: acme")
    desk.write("fact.txt", "a fact")
    tasks = desk.root / "tasks.json"
    tasks.write_text(json.dumps([{"name": "from a file", "prompt": "third", "timeout": 33}]))
    options = ("-p", "p", "--files", "fact.txt", "--timeout", "77", "--tasks", str(tasks), "--trust")
    done = desk.call("run", "--background", *options, script(prints(*answer("One."))), "two")
    assert done.exit_code == 0, done.err
    assert done.out.split() == [short(run_dir) for run_dir in desk.run_dirs]
    assert 'Started 3 "p" agents in the background.' in done.err
    states = [load_run(run_dir) for run_dir in desk.run_dirs]
    assert [(state.background, state.owner, state.profile) for state in states] == [(True, "terminal", "p")] * 3
    assert [(state.timeout_s, state.file_count) for state in states] == [(77, 1), (77, 1), (33, 1)]
    desk.background("wait")
    assert "a fact" in (desk.run_dirs[0] / "prompt.md").read_text()


def test_without_a_profile_it_works_too_and_programs_get_the_rows(desk: Desk) -> None:
    elsewhere = desk.project / "sub"
    elsewhere.mkdir()
    (row,) = desk.call("run", "--background", "--json", "--cwd", str(elsewhere), "hello").json()
    assert Path(row["paths"]["runDir"]) == desk.run_dirs[0]
    assert (row["cwd"], row["name"], row["project"]) == (str(elsewhere), "1: hello", str(desk.project))


def test_a_preset_will_do_as_well(desk: Desk) -> None:
    done = desk.call("run", "--background", "-p", "worker", "hello")
    assert (done.exit_code, done.out.split()) == (0, [short(desk.run_dirs[0])])
    assert 'Started "worker" in the background.' in done.err


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("--tmux",), 2, "--tmux cannot be used with --background: background agents have no pane"),
        (("--plain",), 2, "--plain cannot be used with --background"),
        (("-j", "4"), 2, "subagents.maxBackground"),
        (("-q",), 2, "--quiet cannot be used with --background"),
        (("-p", "nobody"), 2, 'Unknown profile: "nobody"'),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_starts(
    desk: Desk, options: tuple[str, ...], code: int, says: str
) -> None:
    done = desk.call("run", "--background", *options, "hello")
    assert (done.exit_code, done.out) == (code, "")
    assert says in done.err
    assert desk.run_dirs == []
