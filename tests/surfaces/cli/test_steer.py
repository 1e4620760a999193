"""`steer`: what reaches an agent at work, and what is said where nothing can."""

from __future__ import annotations

import pytest

from pi_subagents.offline import Call, Script, Turn
from pi_subagents.store import load_run
from pi_subagents.testing import answer, prints, script
from pi_subagents.testing.agent import repeats_steering, touches
from tests.kit.waiting import until
from tests.pi.stage import WAIT_S, Play, Stage
from tests.surfaces.cli.background_desk import BackgroundDesk
from tests.surfaces.cli.session_desk import TIMEOUT_S

WAITS = Turn("On it.", calls=(Call("bash", {"command": "touch at-work; while [ ! -e go ]; do sleep 0.05; done"}),))
SCRIPT = Script().otherwise([WAITS, Turn("Done.")])
TOLD = "Look at the tests too."


@pytest.fixture
def desk(background_desk: BackgroundDesk) -> BackgroundDesk:
    return background_desk


def steered(stage: Stage, *before: str) -> None:
    """Steer the only run while its agent works, and see that the model hears it in its next request."""
    until(lambda: (stage.project / "at-work").exists())
    (run_dir,) = stage.run_dirs
    session = run_dir.name.rpartition("-")[2]
    done = stage.command("steer", session[:8], TOLD)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Sent to session {session[:8]}; the agent reads it before its next turn.\n"
    stage.write("go", "")
    until(lambda: len(stage.model.requests) > 1)
    assert [TOLD in str(request.messages) for request in stage.model.requests[:2]] == [False, True]
    until(lambda: load_run(run_dir).status.is_terminal)
    assert load_run(run_dir).status == "completed"
    done = stage.command("steer", session, TOLD)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Session {session[:8]} has ended: ✓ completed" in done.stderr
    assert "sessions resume" in done.stderr


def test_a_background_run_hears_it_in_its_next_request(play: Play) -> None:
    stage = play(SCRIPT)
    stage.write(".pi/subagents/w.md", "---\nname: w\ndescription: W.\nmodel: offline/scripted\n---\n")
    started = stage.command("background", "start", "w", "Work.")
    assert started.returncode == 0, started.stderr
    steered(stage)


@pytest.mark.parametrize("where", ["setting", "profile"])
def test_a_foreground_run_hears_it_where_setting_or_profile_says_so(play: Play, where: str) -> None:
    stage = play(SCRIPT)
    if where == "setting":
        stage.write_settings(harness="pi-rpc")
    else:
        stage.write_profile("p", "harness: pi-rpc")
    with stage.start_command("run", *(["-p", "p"] if where == "profile" else []), "Work.") as process:
        steered(stage)
        out, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert "Done." in out


def test_a_foreground_run_that_cannot_be_steered_says_so_and_goes_on(play: Play) -> None:
    stage = play(SCRIPT)
    with stage.start_command("run", "Work.") as process:
        until(lambda: (stage.project / "at-work").exists())
        (run_dir,) = stage.run_dirs
        done = stage.command("steer", run_dir.name, TOLD)
        stage.write("go", "")
        process.communicate(timeout=WAIT_S)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be steered: its agent uses the harness pi-json" in done.stderr
    assert '\nhint: to steer the next one, set "harness: pi-rpc" in its profile' in done.stderr
    assert process.returncode == 0


def test_a_run_that_is_over_is_resumed_and_the_hint_says_how(desk: BackgroundDesk) -> None:
    run_dir = desk.launch(prints(*answer("Done.")))
    desk.until_over(run_dir)
    session = run_dir.name.rpartition("-")[2][:8]
    assert desk.call("steer", session, "Hello?").err.splitlines() == [
        f"error: Session {session} has ended: ✓ completed",
        f"hint: continue it with 'pi-subagents sessions resume {session} PROMPT'",
    ]


def test_the_harness_of_a_preset_goes_before_the_one_of_background_runs(desk: BackgroundDesk) -> None:
    run_dir = desk.launch_patient("deaf")
    assert load_run(run_dir).harness == "pi-json"
    done = desk.call("steer", run_dir.name.rpartition("-")[2], "Hello?")
    assert (done.exit_code, done.out) == (1, "")
    assert "cannot be steered" in done.err


def test_text_from_a_pipe_reaches_the_agent(desk: BackgroundDesk) -> None:
    ready = desk.root / "ready"
    settled = prints({"type": "agent_end"}, {"type": "agent_settled"})
    run_dir = desk.launch(touches(ready), repeats_steering(), settled)
    until(ready.exists, "the agent is at work")
    done = desk.call("steer", run_dir.name, "-", stdin="two\nlines")
    assert done.exit_code == 0, done.err
    desk.until_over(run_dir)
    assert load_run(run_dir).text == "two\nlines"


def test_a_run_that_waits_for_its_turn_and_an_empty_text_are_refused(desk: BackgroundDesk) -> None:
    (desk.project / ".pi" / "settings.json").write_text('{"subagents": {"maxBackground": 1}}')
    desk.launch_patient()
    waiting = desk.launch(repeats_steering())
    done = desk.call("steer", waiting.name, "Hello?")
    assert done.exit_code == 1
    assert "is still queued" in done.err
    assert "TEXT is empty" in desk.call("steer", waiting.name, " ").err
    desk.background("stop", waiting.name)


def test_several_runs_of_one_command_are_steered_apart(desk: BackgroundDesk) -> None:
    (desk.project / ".pi" / "settings.json").write_text('{"subagents": {"harness": "pi-rpc"}}')
    settled = prints({"type": "agent_end"}, {"type": "agent_settled"})
    tasks = [script(touches(desk.root / name), repeats_steering(), settled) for name in ("one", "two")]
    process = desk.start("run", "--json", *tasks)
    until(lambda: all((desk.root / name).exists() for name in ("one", "two")), "both are at work")
    for run_dir in desk.run_dirs:
        assert desk.call("steer", run_dir.name, f"for {run_dir.name}").exit_code == 0
    process.communicate(timeout=TIMEOUT_S)
    assert [load_run(run_dir).text for run_dir in desk.run_dirs] == [f"for {folder.name}" for folder in desk.run_dirs]
