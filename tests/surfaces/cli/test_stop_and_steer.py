"""`sessions stop` and `steer`: what reaches an agent at work, and what is said where nothing can."""

from __future__ import annotations

import json
import subprocess

import pytest

from pi_subagents.models import Reason
from pi_subagents.offline import Call, Script, Turn
from pi_subagents.outcome import ending
from pi_subagents.runs.run import Run
from pi_subagents.store import load_run, stop_request
from pi_subagents.surfaces.cli import ends
from pi_subagents.testing import answer, prints, script
from pi_subagents.testing.agent import ignores_sigterm, pauses, repeats_steering, touches, waits_for
from tests.kit.sessions import says
from tests.kit.waiting import until
from tests.pi.stage import Play
from tests.surfaces.cli.desk import TIMEOUT_S, Desk

SESSION = "a3f7b9c2d1e8f4a1"


def start_run(desk: Desk, prompt: str) -> tuple[subprocess.Popen[str], str]:
    """A real run of the scripted agent, and its session's id."""
    process = desk.start_command("run", "--json", prompt)
    until(lambda: (desk.root / "ready").exists(), "the agent is at work")
    (session,) = desk.run("list", "--json", "--status", "running").json()
    return process, session["sessionId"]


def test_a_run_of_another_process_is_stopped_and_its_end_told(desk: Desk) -> None:
    process, session_id = start_run(desk, script(touches(desk.root / "ready"), pauses(300)))
    done = desk.run("stop", session_id)
    assert (done.exit_code, done.out) == (0, f"Session {session_id[:8]} has ended: ✗ aborted (cancelled)\n")
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert [result["status"] for result in json.loads(out)] == ["aborted"]


def test_an_agent_that_ignores_the_request_is_gone_all_the_same(desk: Desk) -> None:
    process, session_id = start_run(desk, script(ignores_sigterm(), touches(desk.root / "ready"), pauses(300)))
    # It gets 5 of the 8 seconds that are waited for its end; a busy machine may need the rest for itself.
    told = until(lambda: done.out if (done := desk.run("stop", session_id)).exit_code == 0 else "", "it is over")
    assert "aborted" in told
    process.communicate(timeout=TIMEOUT_S)


def test_a_session_that_is_over_is_said_to_be_over(desk: Desk) -> None:
    kept = desk.shelf.add(session_id=SESSION, ends=Reason.TIMEOUT, message="Timed out after 7s.")
    done = desk.run("stop", SESSION)
    assert done.exit_code == 0
    ending = "✗ failed (timeout) – Timed out after 7s. (ran for 1.0s)"
    assert done.out == f"Session {SESSION[:8]} has already ended: {ending}\n"
    assert stop_request(kept.run_dir) is None


def test_a_lost_session_is_said_to_be_lost(desk: Desk) -> None:
    desk.shelf.add(session_id=SESSION, ends=None).let_go()
    done = desk.run("stop", SESSION)
    assert done.exit_code == 0
    assert "has already ended: ✗ failed (lost)" in done.out


def test_a_run_that_completes_meanwhile_is_not_called_stopped(desk: Desk) -> None:
    kept = desk.shelf.add(says("Done."), session_id=SESSION, ends=None)
    process = desk.start_command("sessions", "stop", SESSION)
    until(lambda: stop_request(kept.run_dir) is not None, "the request is made")
    kept.append(ending(Reason.SETTLED, None, 5))
    kept.let_go()
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out) == (0, f"Session {SESSION[:8]} completed before it could be stopped.\n")


def test_a_run_that_does_not_end_in_time_is_exit_code_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends._WAIT_S == 8.0
    monkeypatch.setattr(ends, "_WAIT_S", 0.1)
    kept = desk.shelf.add(session_id=SESSION, ends=None)  # its holder does not listen
    assert ends.stop_runs("Session a3f7b9c2", [Run.load(kept.run_dir)]) == 1
    assert stop_request(kept.run_dir) is not None
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        "Session a3f7b9c2 was asked to stop but has not ended within 0.1 s; "
        "watch it with 'pi-subagents sessions show --follow a3f7b9c2'.\n",
    )


def test_an_agent_that_has_answered_is_not_stopped(desk: Desk) -> None:
    (result,) = desk.call("run", "--json", script(prints(*answer("Hello")))).json()
    assert (
        desk.run("stop", result["sessionId"]).out
        == f"Session {result['sessionId'][:8]} has already ended: ✓ completed\n"
    )


WAITS = Turn("On it.", calls=(Call("bash", {"command": "touch at-work; while [ ! -e go ]; do sleep 0.05; done"}),))
SCRIPT = Script().otherwise([WAITS, Turn("Done.")])
TOLD = "Look at the tests too."


def test_a_background_run_hears_it_in_its_next_request(play: Play) -> None:
    stage = play(SCRIPT)
    stage.write(".pi/subagents/w.md", "---\nname: w\ndescription: W.\nmodel: offline/scripted\n---\n")
    started = stage.command("background", "start", "w", "Work.")
    assert started.returncode == 0, started.stderr
    until(lambda: (stage.project / "at-work").exists())
    (run_dir,) = stage.run_dirs
    session = run_dir.name.rpartition("-")[2]
    done = stage.command("steer", session[:8], TOLD)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Sent to session {session[:8]}; the agent reads it before its next turn, if there is one.\n"
    stage.write("go", "")
    until(lambda: len(stage.model.requests) > 1)
    assert [TOLD in str(request.messages) for request in stage.model.requests[:2]] == [False, True]
    until(lambda: load_run(run_dir).status.is_terminal)
    assert load_run(run_dir).status == "completed"


def test_a_foreground_run_that_cannot_be_steered_says_so_and_goes_on(desk: Desk) -> None:
    desk.write_settings(harness="pi-json")
    ready, go = desk.root / "ready", desk.root / "go"
    with desk.start_command("run", script(touches(ready), waits_for(go), prints(*answer("Done.")))) as process:
        until(ready.exists, "the agent is at work")
        (run_dir,) = desk.run_dirs
        done = desk.call("steer", run_dir.name, TOLD)
        go.touch()
        process.communicate(timeout=TIMEOUT_S)
    assert (done.exit_code, done.out) == (1, "")
    assert "cannot be steered: its agent uses the harness pi-json" in done.err
    assert '\nhint: to steer the next one, set "harness: pi-rpc" in its profile' in done.err
    assert process.returncode == 0


def test_a_run_that_is_over_is_resumed_and_the_hint_says_how(desk: Desk) -> None:
    run_dir = desk.launch(prints(*answer("Done.")))
    desk.until_over(run_dir)
    session = run_dir.name.rpartition("-")[2][:8]
    assert desk.call("steer", session, "Hello?").err.splitlines() == [
        f"error: Session {session} has ended: ✓ completed",
        f"hint: continue it with 'pi-subagents sessions resume {session} PROMPT'",
    ]


def test_the_harness_of_a_preset_goes_before_the_one_of_background_runs(desk: Desk) -> None:
    run_dir = desk.launch_patient("deaf")
    assert load_run(run_dir).harness == "pi-json"
    done = desk.call("steer", run_dir.name.rpartition("-")[2], "Hello?")
    assert (done.exit_code, done.out) == (1, "")
    assert "cannot be steered" in done.err


def test_text_from_a_pipe_reaches_the_agent(desk: Desk) -> None:
    ready = desk.root / "ready"
    settled = prints({"type": "agent_end"}, {"type": "agent_settled"})
    run_dir = desk.launch(touches(ready), repeats_steering(), settled)
    until(ready.exists, "the agent is at work")
    done = desk.call("steer", run_dir.name, "-", stdin="two\nlines")
    assert done.exit_code == 0, done.err
    desk.until_over(run_dir)
    assert load_run(run_dir).text == "two\nlines"


def test_a_run_that_waits_for_its_turn_and_an_empty_text_are_refused(desk: Desk) -> None:
    desk.write_settings(maxBackground=1)
    desk.launch_patient()
    waiting = desk.launch(repeats_steering())
    done = desk.call("steer", waiting.name, "Hello?")
    assert done.exit_code == 1
    assert "is still queued" in done.err
    assert "TEXT is empty" in desk.call("steer", waiting.name, " ").err
    desk.background("stop", waiting.name)


@pytest.mark.parametrize("where", ["default", "setting", "profile"])
def test_runs_in_the_foreground_are_steered_apart(desk: Desk, where: str) -> None:
    if where == "setting":
        desk.write_settings(harness="pi-rpc", warmAgents=False)
    if where == "profile":
        desk.write_settings(harness="pi-json")
        desk.write_profile("p", "harness: pi-rpc")
    options = ["-p", "p"] if where == "profile" else []
    settled = prints({"type": "agent_end"}, {"type": "agent_settled"})
    tasks = [script(touches(desk.root / name), repeats_steering(), settled) for name in ("one", "two")]
    process = desk.start_command("run", "--json", *options, *tasks)
    until(lambda: all((desk.root / name).exists() for name in ("one", "two")), "both are at work")
    for run_dir in desk.run_dirs:
        assert desk.call("steer", run_dir.name, f"for {run_dir.name}").exit_code == 0
    process.communicate(timeout=TIMEOUT_S)
    assert [load_run(run_dir).text for run_dir in desk.run_dirs] == [f"for {folder.name}" for folder in desk.run_dirs]
