"""However the conversation ends, foreground runs end with it, truthfully, and background runs go on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from pi_subagents.models import Reason, Status
from pi_subagents.store import load_run
from pi_subagents.testing import prints, script
from pi_subagents.testing.agent import ignores_abort, ignores_sigterm, leaves_behind, pauses, touches, waits_for
from pi_subagents.testing.records import AGENT_START
from tests.bridge.kit import WAIT_S, Desk, Extension
from tests.kit.desks import DONE
from tests.kit.waiting import until
from tests.process.kit import PRESET, tasks

"""An agent that does not listen is given five seconds; the rest is for a slow machine."""


def begin_call(bridge: Extension, tmp_path: Path, *, stubborn: bool = True) -> None:
    """A call whose agent does not end by itself, nor, if it is stubborn, when it is asked to."""
    there = tmp_path / "there"
    steps = [prints(AGENT_START), leaves_behind(), touches(there), pauses(300)]
    arguments = tasks([ignores_sigterm(), ignores_abort(), *steps] if stubborn else steps)
    bridge.begin_call("delegate_to_subagents", arguments)
    until(there.exists)


def launch(bridge: Extension, go: Path) -> str:
    """A background run that waits for a file; its session."""
    task = script(prints(AGENT_START), waits_for(go), DONE)
    started = bridge.call("background_agent", {"preset": PRESET, "task": task}, call="b")
    return str(started["details"]["run"]["sessionId"])


@pytest.mark.parametrize("how", ["eof", "shutdown", signal.SIGTERM, signal.SIGINT])
def test_foreground_runs_are_stopped_and_background_runs_go_on(
    desk: Desk, tmp_path: Path, how: str | signal.Signals
) -> None:
    with desk.bridge() as bridge:
        session_id = launch(bridge, tmp_path / "go")
        begin_call(bridge, tmp_path, stubborn=how == "eof")
        if how == "eof":
            assert bridge.hang_up() == 0
        elif how == "shutdown":
            assert bridge.ask("session/shutdown", {"reason": "quit"}) is None
        else:
            assert isinstance(how, signal.Signals)
            bridge.process.send_signal(how)
            assert bridge.process.wait(WAIT_S) == 128 + how
        background, foreground = map(load_run, desk.stage.run_dirs)
        assert (foreground.status, foreground.reason) == (Status.ABORTED, Reason.CANCELLED)
        assert not background.status.is_terminal
    (tmp_path / "go").touch()
    with desk.bridge() as bridge:
        status = bridge.call("background_agent_status", {"includeCompleted": True, "wait_s": WAIT_S})
        assert [run["sessionId"] for run in status["details"]["runs"]] == [session_id]
        assert "All is well." in bridge.output(session_id)["text"]
    until(lambda: desk.agents() == [])


def test_a_bridge_that_is_killed_leaves_no_agent_and_its_runs_are_closed_as_lost(desk: Desk, tmp_path: Path) -> None:
    with desk.bridge() as bridge:
        begin_call(bridge, tmp_path)
        bridge.process.kill()
        bridge.process.wait(WAIT_S)
    until(lambda: desk.agents() == [])
    (run_dir,) = desk.stage.run_dirs
    session_id = run_dir.name.rpartition("-")[2]
    with desk.bridge() as bridge:
        found = bridge.output(session_id)
        assert (found["details"]["status"], found["details"]["reason"]) == ("error", "lost")
        assert not bridge.delegate([DONE])["isError"]


def test_a_bridge_to_which_nobody_ever_speaks_ends_with_its_input(desk: Desk) -> None:
    with desk.bridge(greet=False) as bridge:
        assert bridge.hang_up() == 0


def test_a_reader_that_is_gone_ends_the_bridge_too(desk: Desk, tmp_path: Path) -> None:
    with desk.bridge() as bridge:
        begin_call(bridge, tmp_path, stubborn=False)
        bridge.deafen()
        assert bridge.process.wait(WAIT_S) == 0
    assert desk.agents() == []
