"""The porter alone: what it holds is safe with it, whatever the machine refuses."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from pi_subagents.background import porter as porter_module
from pi_subagents.background.porter import Porter
from pi_subagents.store import Slots


def knock(door: Path, run_dir: Path, descriptors: int = 2) -> None:
    """Bring the porter a run, or something less."""
    with socket.socket(socket.AF_UNIX) as line, run_dir.joinpath("lease").open("w") as file:
        line.connect(str(door))
        socket.send_fds(line, [os.fsencode(run_dir)], [file.fileno()] * descriptors)


@pytest.fixture
def slots(tmp_path: Path) -> Slots:
    return Slots(tmp_path / "agent", 1)


def test_who_waits_keeps_their_turn_when_no_process_can_be_started(
    tmp_path: Path, slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    refusals = [BlockingIOError("no more processes")] * 3

    def start(lease: int, order: int, slot: int) -> None:
        if refusals:
            raise refusals.pop()
        started.append(Path(f"/proc/self/fd/{lease}").readlink().parent.name)

    monkeypatch.setattr(porter_module, "start_keeper", start)
    door = slots.move_door()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(door))
        listening.listen()
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
            knock(door, tmp_path / name)
        # Nonsense at the door: somebody who says nothing, and somebody with half of what is needed.
        knock(door, tmp_path / "first", descriptors=1)
        with socket.socket(socket.AF_UNIX) as silent:
            silent.connect(str(door))
        before = len(list(Path("/proc/self/fd").iterdir()))
        Porter(listening, slots).work()
        assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert started == ["first", "second"]
    assert (slots.door, door.exists()) == (None, False)


def test_a_porter_that_leaves_late_does_not_take_its_successors_door_away(slots: Slots) -> None:
    old = slots.move_door()
    new = slots.move_door()
    new.touch()
    try:
        slots.close_door(old)
        assert slots.door == new
        assert new.exists()
    finally:
        new.unlink()
