"""`d` in the live view of `run`: the shell is back, and the agents go on whatever becomes of the terminal."""

from __future__ import annotations

import os
import signal

from pi_subagents.offline import Call, Script, Turn
from pi_subagents.store import load_run
from tests.kit.waiting import until
from tests.pi.stage import Play, Stage, processes_below
from tests.surfaces.live.tmux import Terminal
from tests.surfaces.live.watching import WAITING, Open, assert_shell_is_sane, needs_tmux, pid_of_command, start

pytestmark = needs_tmux

_WAIT_FOR_GO = "until [ -e go ]; do sleep 0.1; done"
_PATIENT = [Turn("I wait.", calls=(Call("bash", {"command": _WAIT_FOR_GO}),)), Turn("Done at last.")]
PATIENT = Script().otherwise(_PATIENT)
PATIENT_BUT_ONE = Script().when("quick", [Turn("Done at once.")]).otherwise(_PATIENT)


def statuses(stage: Stage) -> list[str]:
    return [load_run(folder).status.value for folder in stage.run_dirs]


def detach(terminal: Terminal, *shown: str) -> str:
    """Leave the live view once an agent is at work; what the shell shows then."""
    terminal.until_shown("→ bash", "d detach", *shown)
    terminal.press("d")
    return terminal.until_prompt()


def test_detached_runs_outlive_the_terminal_also_those_that_wait_and_the_next_command_tells_their_ends(
    play: Play, open_terminal: Open
) -> None:
    stage = play(PATIENT)
    terminal = open_terminal(stage, 120, 30)
    terminal.run("run", "-j", "1", "alpha", "beta")
    said = detach(terminal, "1 running, 1 waiting")
    alpha, beta = (folder.name.rpartition("-")[2][:8] for folder in stage.run_dirs)
    assert f"Detached: {alpha} (1: alpha), {beta} (2: beta, waiting) continue in the background.\n" in said
    assert f"'background attach {alpha}'" in said
    assert "x stop" not in said
    terminal.type('echo "code $?"', clear=False)
    terminal.until_shown("code 0")
    assert_shell_is_sane(terminal)
    assert "running" in stage.command("background", "status", alpha).stdout
    terminal.close()
    (stage.project / "go").touch()
    until(lambda: statuses(stage) == ["completed", "completed"], "both are completed", lambda: str(statuses(stage)))
    until(lambda: not processes_below(stage.project), "the keeper is gone")
    told = stage.command("background", "list").stderr
    assert told.count("Background agent completed: 1: alpha ") == 1
    assert told.count("Background agent completed: 2: beta ") == 1


def test_detached_runs_are_stopped_one_by_one_and_the_rest_goes_on(play: Play, open_terminal: Open) -> None:
    stage = play(PATIENT)
    terminal = open_terminal(stage, 120, 30)
    terminal.run("run", "-j", "1", "alpha", "beta")
    detach(terminal, "1 running, 1 waiting")
    first, second = stage.run_dirs
    assert stage.command("background", "stop", second.name).returncode == 0
    until(
        lambda: statuses(stage) == ["running", "aborted"],
        "the one that waited is aborted",
        lambda: str(statuses(stage)),
    )
    terminal.run("background", "attach", first.name)
    terminal.until_shown("→ bash", "q leave it running")
    (stage.project / "go").touch()
    assert "has ended: ✓ completed" in terminal.until_prompt()


def test_a_resumed_session_can_be_detached_too(play: Play, open_terminal: Open) -> None:
    stage = play(PATIENT)
    (stage.project / "go").touch()
    assert stage.command("run", "alpha").returncode == 0
    (stage.project / "go").unlink()
    (first,) = stage.run_dirs
    terminal = open_terminal(stage, 120, 30)
    terminal.run("sessions", "resume", first.name, "again")
    assert "continues in the background" in detach(terminal)
    (stage.project / "go").touch()
    until(lambda: statuses(stage) == ["completed", "completed"], "it is completed", lambda: str(statuses(stage)))


def test_whoever_detaches_is_told_where_the_answers_are_that_came_before(play: Play, open_terminal: Open) -> None:
    stage = play(PATIENT_BUT_ONE)
    terminal = open_terminal(stage, 120, 30)
    terminal.run("run", "-j", "1", "quick", "patient")
    said = detach(terminal, "1 running, 1 completed")
    patient = stage.run_dirs[-1].name.rpartition("-")[2][:8]
    assert f"Detached: {patient} (2: patient) continues in the background.\n" in said
    assert "hint: 1 task already ended; see 'pi-subagents sessions list'\n" in said
    (stage.project / "go").touch()
    until(lambda: statuses(stage) == ["completed"] * 2, "both are completed", lambda: str(statuses(stage)))


def test_kill_9_of_what_the_shell_waits_for_ends_the_agents_too(play: Play, open_terminal: Open) -> None:
    stage = play(WAITING)
    terminal = open_terminal(stage, 80, 24)
    start(terminal)
    os.kill(pid_of_command(stage), signal.SIGKILL)
    until(lambda: statuses(stage) == ["failed"] * 3, "every run has ended", lambda: str(statuses(stage)))
    assert {str(load_run(folder).reason) for folder in stage.run_dirs} == {"lost"}
