"""Somebody who is stopped, or was killed, in an awkward place does not keep the others from their work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pi_subagents.runs.live import ask_holder
from pi_subagents.store import load_run, slots
from pi_subagents.testing import answer, prints
from pi_subagents.testing.agent import pauses, waits_for
from tests.background.kit import Yard
from tests.background.test_control import socket_of
from tests.background.test_slots import overlap
from tests.kit.processes import kill
from tests.kit.waiting import PATIENCE_S, until

_STOPS_IN_THE_GATE = """
import os, signal, sys
from pathlib import Path
from pi_subagents.store import BackgroundSlots
gate = BackgroundSlots(Path(sys.argv[1]), 1).launch_lock()
os.kill(os.getpid(), signal.SIGSTOP)
gate.release()
"""


@contextmanager
def stopped_with_the_lock(yard: Yard) -> Iterator[subprocess.Popen[bytes]]:
    """A launcher that has come as far as the lock, and no further."""
    launcher = subprocess.Popen([sys.executable, "-c", _STOPS_IN_THE_GATE, str(yard.place.agent_dir)])
    try:
        os.waitpid(launcher.pid, os.WUNTRACED)
        assert yard.slots.try_launch_lock() is None
        yield launcher
    finally:
        launcher.kill()
        launcher.wait()


@pytest.mark.parametrize("yard", [1], indirect=True)
async def test_a_launcher_stopped_with_the_lock_is_overtaken_and_the_limit_is_kept(
    yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    go = tmp_path / "go"
    monkeypatch.setattr(slots, "_LAUNCH_S", 0.2)
    with stopped_with_the_lock(yard) as launcher:
        run_dirs = [await yard.launch(waits_for(go), prints(*answer(str(number)))) for number in range(4)]
        assert caplog.text.count("going ahead without it") == 4
        until(lambda: len(yard.queues()) == 1)
        go.touch()
        until(lambda: all(load_run(run_dir).status.is_terminal for run_dir in run_dirs))
        assert [load_run(run_dir).text for run_dir in run_dirs] == ["0", "1", "2", "3"]
        assert overlap(yard.registry.runs()) == 1
        launcher.send_signal(signal.SIGCONT)
        assert launcher.wait(PATIENCE_S) == 0
        monkeypatch.setattr(slots, "_LAUNCH_S", PATIENCE_S)  # the queue, which ends now, lets go, sooner or later
        await yard.launch(prints(*answer("as ever")))
    assert caplog.text.count("going ahead without it") == 4
    until(lambda: not yard.queues())


async def test_the_socket_of_a_killed_keeper_is_removed_by_whoever_asks(yard: Yard) -> None:
    run_dir = await yard.launch_at_work()
    address = socket_of(run_dir)
    yard.kill_keeper(run_dir)
    assert address.exists()
    assert ask_holder(run_dir, {"op": "stop"}) is None
    assert not address.exists()
    assert not (run_dir / "control").exists()


@pytest.mark.parametrize("yard", [1], indirect=True)
async def test_the_address_of_a_killed_queue_is_removed_by_the_next_launch(yard: Yard) -> None:
    first = await yard.launch_at_work()
    await yard.launch(pauses(300))
    address = yard.slots.queue_address
    assert address is not None
    until(lambda: len(yard.queues()) == 1)
    kill(yard.queues()[0])
    yard.kill_keeper(first)
    last = await yard.launch(prints(*answer("there is a place")))
    assert (yard.slots.queue_address, address.exists()) == (None, False)
    assert (await yard.see_the_end(last))["finalText"] == "there is a place"
