"""A worker and its parent look like one process to everybody, until the worker leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.kit.processes import is_alive, state_of
from tests.kit.waiting import PATIENCE_S, until

_PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from pi_subagents.processes.foreground import fork_worker

folder = Path(sys.argv[1])
def note(name, text=""):
    (folder / f".{name}").write_text(text)
    (folder / f".{name}").rename(folder / name)

def ended(number, _frame):
    note("signalled", str(number))
    sys.exit(5)

worker = fork_worker()
signal.signal(signal.SIGTERM, ended)
note("worker", str(os.getpid()))
go = folder / "go"
while not (go.exists() and go.read_text()):  # it is there before it is written
    time.sleep(0.01)
if go.read_text() == "leave":
    worker.leave_terminal()
    note("left")
    while not (folder / "dismiss").exists():
        time.sleep(0.01)
    worker.dismiss_parent()
    while not (folder / "end").exists():
        time.sleep(0.01)
    note("ended", str(os.getsid(0)))
sys.exit(7)
"""
# What is ignored stays so in the program that takes its place.
_DEAF = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"

Start = Callable[..., tuple["subprocess.Popen[bytes]", int]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A function that starts the program, behind other words; returns the parent and the pid of the worker."""
    with ExitStack() as ending:

        def started(*before: str) -> tuple[subprocess.Popen[bytes], int]:
            # A process group of its own, as a shell makes one: in one that nobody looks after, nothing can be stopped.
            command = [*before, sys.executable, "-c", _PROGRAM, str(tmp_path)]
            parent = ending.enter_context(subprocess.Popen(command, process_group=0))
            ending.callback(parent.kill)
            until((tmp_path / "worker").exists, "the worker is there")
            worker = int((tmp_path / "worker").read_text())
            ending.callback(_kill, worker)
            return parent, worker

        yield started


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("before", [(), (sys.executable, "-c", _DEAF)], ids=["", "where ends of children are ignored"])
def test_the_exit_code_is_the_workers(before: tuple[str, ...], start: Start, tmp_path: Path) -> None:
    parent, worker = start(*before)
    assert worker != parent.pid
    (tmp_path / "go").write_text("end")
    assert parent.wait(PATIENCE_S) == 7


def test_a_signal_to_the_parent_alone_reaches_the_worker(start: Start, tmp_path: Path) -> None:
    parent, _ = start()
    parent.terminate()
    assert parent.wait(PATIENCE_S) == 5
    assert (tmp_path / "signalled").read_text() == str(int(signal.SIGTERM))


def test_what_kills_the_worker_kills_the_parent(start: Start) -> None:
    parent, worker = start()
    os.kill(worker, signal.SIGKILL)
    assert parent.wait(PATIENCE_S) == -signal.SIGKILL


def test_a_worker_does_not_outlive_a_parent_that_was_killed(start: Start) -> None:
    parent, worker = start()
    parent.kill()
    until(lambda: not is_alive(worker), "the worker is gone")


def test_the_parent_stops_and_goes_on_with_the_worker(start: Start, tmp_path: Path) -> None:
    parent, worker = start()
    os.kill(parent.pid, signal.SIGTSTP)
    until(lambda: state_of(worker) == state_of(parent.pid) == "T", "both are stopped")
    os.kill(parent.pid, signal.SIGCONT)
    (tmp_path / "go").write_text("end")
    assert parent.wait(PATIENCE_S) == 7


def test_a_worker_that_leaves_lets_the_parent_end_well_and_goes_on_in_a_session_of_its_own(
    start: Start, tmp_path: Path
) -> None:
    parent, worker = start()
    (tmp_path / "go").write_text("leave")
    (tmp_path / "dismiss").touch()
    assert parent.wait(PATIENCE_S) == 0
    assert is_alive(worker)
    (tmp_path / "end").touch()
    until((tmp_path / "ended").exists, "it has gone on to its end")
    assert (tmp_path / "ended").read_text() == str(worker)


def test_a_terminal_that_is_closed_while_the_worker_leaves_ends_nothing(start: Start, tmp_path: Path) -> None:
    parent, _ = start()
    (tmp_path / "go").write_text("leave")
    until((tmp_path / "left").exists, "the worker has left the terminal")
    os.kill(parent.pid, signal.SIGHUP)
    os.kill(parent.pid, signal.SIGTERM)
    until((tmp_path / "signalled").exists, "what was sent to the parent has reached the worker")
    assert (tmp_path / "signalled").read_text() == str(int(signal.SIGTERM))
    assert parent.wait(PATIENCE_S) == 5


def test_nobody_but_the_worker_can_tell_the_parent_that_it_has_left(start: Start) -> None:
    parent, worker = start()
    os.kill(parent.pid, signal.SIGUSR1)
    assert parent.wait(PATIENCE_S) == -signal.SIGUSR1
    until(lambda: not is_alive(worker), "the worker is gone")
