"""The queue alone: what it holds is safe with it, whatever the machine refuses."""

from __future__ import annotations

import os
import resource
import socket
from pathlib import Path

import pytest

from pi_subagents.background import porter, queue
from pi_subagents.store import BackgroundSlots


def bring(address: Path, run_dir: Path, descriptors: int = 2) -> None:
    """Bring the queue a run, or something less."""
    with socket.socket(socket.AF_UNIX) as line, run_dir.joinpath("lease").open("w") as file:
        line.connect(str(address))
        socket.send_fds(line, [os.fsencode(run_dir)], [file.fileno()] * descriptors)


@pytest.fixture
def slots(tmp_path: Path) -> BackgroundSlots:
    return BackgroundSlots(tmp_path / "agent", 1)


class Keepers:
    """Notes whose keeper is started, where the machine does not refuse to start one."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.refusals = 0

    def start(self, lease: int, order: int, slot: int) -> None:
        if self.refusals:
            self.refusals -= 1
            raise BlockingIOError("no more processes")
        self.started.append(Path(f"/proc/self/fd/{lease}").readlink().parent.name)


@pytest.fixture
def keepers(monkeypatch: pytest.MonkeyPatch) -> Keepers:
    keepers = Keepers()
    monkeypatch.setattr(queue, "start_keeper", keepers.start)
    return keepers


def test_who_waits_keeps_their_turn_when_no_process_can_be_started(
    tmp_path: Path, slots: BackgroundSlots, keepers: Keepers
) -> None:
    keepers.refusals = 3
    address = slots.new_queue_address()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        listening.listen()
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
            bring(address, tmp_path / name)
        # Nonsense: somebody who says nothing, and somebody with half of what is needed.
        bring(address, tmp_path / "first", descriptors=1)
        with socket.socket(socket.AF_UNIX) as silent:
            silent.connect(str(address))
        before = len(list(Path("/proc/self/fd").iterdir()))
        queue.Queue(listening, slots).serve()
        assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert keepers.started == ["first", "second"]
    assert (slots.queue_address, address.exists()) == (None, False)


class LateGuest(socket.socket):
    """A socket to which somebody connects at the very last moment."""

    guest: Path

    def shutdown(self, how: int) -> None:
        bring(Path(self.getsockname()), self.guest)
        super().shutdown(how)


def test_who_comes_past_the_lock_while_the_queue_ends_is_not_forgotten(
    tmp_path: Path, slots: BackgroundSlots, keepers: Keepers
) -> None:
    address = slots.new_queue_address()
    with LateGuest(socket.AF_UNIX) as listener:
        listener.guest = tmp_path / "late"
        listener.guest.mkdir()
        listener.bind(str(address))
        listener.listen()
        queue.Queue(listener, slots).serve()
    assert keepers.started == ["late"]
    assert (slots.queue_address, address.exists()) == (None, False)


def test_a_queue_that_ends_late_does_not_take_its_successors_address_away(slots: BackgroundSlots) -> None:
    old = slots.new_queue_address()
    new = slots.new_queue_address()
    new.touch()
    try:
        slots.remove_queue_address(old)
        assert slots.queue_address == new
        assert new.exists()
    finally:
        new.unlink()


@pytest.mark.parametrize("found", [b"", b"\xff\xfe", b".", None], ids=["empty", "not UTF-8", "a directory", "a pipe"])
def test_an_address_that_leads_nowhere_keeps_no_queue_out(slots: BackgroundSlots, found: bytes | None) -> None:
    slots.new_queue_address()
    (file,) = (slots.agent_dir / "subagents" / "slots").iterdir()
    if found is None:
        file.unlink()
        os.mkfifo(file)
    else:
        file.write_bytes(found)
    assert slots.queue_address is None
    assert slots.new_queue_address() == slots.queue_address


def test_a_full_disk_takes_no_address_away(slots: BackgroundSlots) -> None:
    address = slots.new_queue_address()
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, kept[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            slots.new_queue_address()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
    assert slots.queue_address == address


def test_programs_of_an_older_version_that_still_run_find_the_queue_by_its_old_name() -> None:
    assert porter.main is queue.main
