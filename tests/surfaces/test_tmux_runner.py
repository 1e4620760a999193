"""Foreground runs in tmux panes, on a real tmux server with a socket of its own."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_subagents.runners.detached import SERVER
from pi_subagents.store import load_run
from pi_subagents.testing import answer, prints, script
from pi_subagents.testing.agent import pauses, touches, waits_for
from tests.kit.waiting import PATIENCE_S, until
from tests.surfaces.cli.desk import TIMEOUT_S, Desk
from tests.surfaces.live.tmux import Terminal
from tests.surfaces.live.watching import needs_tmux

pytestmark = needs_tmux

KEY = "sk-of-somebody-0123456789"


class TmuxDesk(Desk):
    """A desk whose tmux is nobody else's."""

    def __init__(self, root: Path, sockets: Path) -> None:
        super().__init__(root, {"TMUX_TMPDIR": str(sockets), "ANTHROPIC_API_KEY": KEY})

    def tmux(self, *arguments: str) -> str:
        """Ask the server that the command has started."""
        command = ["tmux", "-L", SERVER, *arguments]
        done = subprocess.run(
            command, env=self.environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        return done.stdout

    @property
    def panes(self) -> list[str]:
        return self.tmux("list-panes", "-a", "-F", "#{pane_id}").split()

    def pane_showing(self, text: str) -> str:
        """The pane that shows a text, once there is one."""
        found: list[str] = []

        def is_shown() -> bool:
            found[:] = [pane for pane in self.panes if text in self.tmux("capture-pane", "-p", "-t", pane)]
            return bool(found)

        until(is_shown, f"a pane shows {text!r}")
        return found[0]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TmuxDesk]:
    sockets = Path(tempfile.mkdtemp(prefix="pst-", dir="/tmp"))  # the path of a socket must be short
    desk = TmuxDesk(tmp_path, sockets)
    yield desk
    desk.close()
    desk.tmux("kill-server")
    shutil.rmtree(sockets)


def working(desk: TmuxDesk, word: str) -> str:
    """An agent that says that it works, and what on, until it is told to go on."""
    said = prints(*answer(f"Working on {word}.")[:-2])
    return script(said, touches(desk.root / f"{word} ready"), waits_for(desk.root / word), prints(*answer(word)[1:]))


def test_every_run_has_a_pane_with_its_window_and_is_reported_as_usual(desk: TmuxDesk) -> None:
    process = desk.start_command("run", "--tmux", "--json", working(desk, "alpha"), working(desk, "beta"))
    alpha, beta = desk.pane_showing("Working on alpha."), desk.pane_showing("Working on beta.")
    assert alpha != beta
    until(lambda: "Sub-agents: 1 running" in desk.tmux("capture-pane", "-p", "-t", alpha), "it is counted")
    desk.go("alpha")
    desk.until_over(desk.run_dirs[0])
    until(lambda: desk.panes == [beta], "the pane of a run that is over closes")
    desk.go("beta")
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert [result["output"] for result in json.loads(out)] == ["alpha", "beta"]
    assert [json.loads((folder / "result.json").read_bytes())["status"] for folder in desk.run_dirs] == [
        "completed"
    ] * 2
    assert f"hint: the agents run in tmux panes: tmux -L {SERVER} attach -t {SERVER}-{process.pid}" in err


def test_the_setting_does_the_same_and_no_secret_reaches_the_tmux_server(desk: TmuxDesk) -> None:
    (desk.project / ".pi" / "settings.json").write_text('{"subagents": {"runner": "tmux"}}')
    process = desk.start_command("run", working(desk, "alpha"))
    desk.pane_showing("Working on alpha.")
    assert KEY not in desk.tmux("show-environment", "-g")
    assert "HOME=" in desk.tmux("show-environment", "-g")
    desk.go("alpha")
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0


def test_a_closed_pane_aborts_its_run_and_no_other(desk: TmuxDesk) -> None:
    process = desk.start_command("run", "--tmux", "--json", working(desk, "alpha"), working(desk, "beta"))
    pane = desk.pane_showing("Working on alpha.")
    desk.pane_showing("Working on beta.")
    desk.tmux("kill-pane", "-t", pane)
    desk.until_over(desk.run_dirs[0])
    assert (load_run(desk.run_dirs[0]).status, load_run(desk.run_dirs[0]).reason) == ("aborted", "cancelled")
    assert load_run(desk.run_dirs[1]).status == "running"
    desk.go("beta")
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert [result["status"] for result in json.loads(out)] == ["aborted", "completed"]


def test_a_key_in_the_pane_stops_the_run(desk: TmuxDesk) -> None:
    process = desk.start_command("run", "--tmux", "--json", working(desk, "alpha"))
    desk.tmux("send-keys", "-t", desk.pane_showing("Working on alpha."), "x")
    desk.tmux("send-keys", "-t", desk.pane_showing("? y yes • any other key no"), "y")
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert [result["reason"] for result in json.loads(out)] == ["cancelled"]


def test_ctrl_c_at_the_command_stops_running_and_waiting_runs(desk: TmuxDesk) -> None:
    tasks = [working(desk, "alpha"), script(pauses(300))]
    process = desk.start_command("run", "--tmux", "--json", "-j", "1", *tasks)
    desk.pane_showing("Working on alpha.")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert [result["status"] for result in json.loads(out)] == ["aborted"] * 2
    until(lambda: desk.panes == [], "the panes close")


def test_the_death_of_the_command_stops_its_runs(desk: TmuxDesk) -> None:
    process = desk.start_command("run", "--tmux", working(desk, "alpha"))
    desk.pane_showing("Working on alpha.")
    process.kill()
    process.communicate(timeout=TIMEOUT_S)
    (run_dir,) = desk.run_dirs
    desk.until_over(run_dir)
    assert load_run(run_dir).status == "aborted"
    until(lambda: desk.panes == [], "the pane closes")


def test_the_death_of_the_pane_program_is_a_lost_run(desk: TmuxDesk) -> None:
    process = desk.start_command("run", "--tmux", "--json", working(desk, "alpha"))
    pane = desk.pane_showing("Working on alpha.")
    pid = int(desk.tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))
    subprocess.run(["kill", "-9", str(pid)], check=True)
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert [(result["status"], result["reason"]) for result in json.loads(out)] == [("failed", "lost")]


def test_a_run_in_a_pane_can_be_steered_and_stopped_by_others(desk: TmuxDesk) -> None:
    (desk.project / ".pi" / "settings.json").write_text('{"subagents": {"harness": "pi-rpc"}}')
    process = desk.start_command("run", "--tmux", "--json", working(desk, "alpha"))
    desk.pane_showing("Working on alpha.")
    (run_dir,) = desk.run_dirs
    assert desk.call("steer", run_dir.name, "Hello").exit_code == 0
    assert desk.background("stop", run_dir.name).exit_code == 0
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert [result["status"] for result in json.loads(out)] == ["aborted"]


def test_inside_tmux_the_panes_open_in_a_window_of_the_same_session(desk: TmuxDesk) -> None:
    terminal = Terminal(desk.project, desk.environ, 120, 40)
    try:
        terminal.run("run", "--tmux", "--plain", working(desk, "alpha"))
        terminal.until_shown("hint: the agents run in panes of the tmux window pi-subagents-")
        until((desk.root / "alpha ready").exists, "the agent is at work")
        terminal.until(
            lambda: "Working on alpha." in terminal._tmux("capture-pane", "-p", "-t", ":1"), "its window shows it"
        )
        assert desk.panes == []  # no server of our own
        desk.go("alpha")
        assert "✓ completed" in terminal.until_prompt()
    finally:
        terminal.close()


def test_without_tmux_nothing_starts_and_the_sentence_says_what_to_do(desk: TmuxDesk) -> None:
    done = desk.call("run", "--tmux", "hello", variables={"PATH": "/nowhere"})
    assert (done.exit_code, done.out) == (1, "")
    assert "tmux is not installed" in done.err
    assert "Traceback" not in done.err
    assert desk.run_dirs == []


def test_a_task_that_cannot_run_needs_no_pane(desk: TmuxDesk) -> None:
    tasks = [{"name": "a", "prompt": "hello", "profile": "nobody"}]
    (desk.project / ".pi" / "settings.json").write_text('{"subagents": {"runner": "tmux"}}')
    done = desk.call("call", "delegate_to_subagents", json.dumps({"tasks": tasks}))
    assert [window["reason"] for window in done.json()["details"]["windows"]] == ["invalid"]
    assert desk.panes == []
