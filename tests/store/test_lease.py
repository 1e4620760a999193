"""Who holds a run is told by the kernel."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pi_subagents.errors import StoreError
from pi_subagents.files import Directory
from pi_subagents.models import Reason, Status
from pi_subagents.models import event as ev
from pi_subagents.outcome import ending
from pi_subagents.paths import private_runtime_dirs
from pi_subagents.store import JOURNAL_FILE, LEASE_FILE, Lease, adopt, is_held, load_run, read_journal, reading
from pi_subagents.store import lease as leases
from pi_subagents.store.writing import Journal
from tests.kit.sessions import Kept, Shelf, says, take_lease
from tests.kit.waiting import PATIENCE_S, until


def taken(folder: Path) -> Lease:
    lease = take_lease(folder)
    assert lease is not None
    return lease


def test_only_one_can_hold_a_run_until_it_is_given_up(tmp_path: Path) -> None:
    lease = taken(tmp_path)
    assert take_lease(tmp_path) is None
    assert is_held(tmp_path)
    lease.release()
    lease.release()
    assert not is_held(tmp_path)
    taken(tmp_path).release()


def test_a_run_that_nobody_ever_held_is_held_by_nobody(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    assert not (tmp_path / LEASE_FILE).exists()


def test_looking_does_not_disturb_other_lookers(tmp_path: Path) -> None:
    taken(tmp_path).release()
    lookers = [is_held(tmp_path) for _ in range(100)]
    assert not any(lookers)
    assert taken(tmp_path).fileno() > 0


def test_the_lease_moves_with_its_directory(tmp_path: Path) -> None:
    (tmp_path / "draft").mkdir()
    lease = taken(tmp_path / "draft")
    (tmp_path / "draft").rename(tmp_path / "run")
    assert is_held(tmp_path / "run")
    lease.release()


# --- the lease is taken from under a live holder ------------------------------------------------------------------


def replace(path: Path) -> None:
    path.unlink()
    path.touch()


def replace_by_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nothing"))


def ends_in(run_dir: Path) -> list[ev.Ended]:
    return [event for event in read_journal(run_dir / JOURNAL_FILE) if isinstance(event, ev.Ended)]


@pytest.mark.parametrize("change", [Path.unlink, replace, replace_by_link])
def test_a_live_run_whose_lease_file_is_gone_is_running_and_gets_one_end(
    change: Callable[[Path], None], shelf: Shelf
) -> None:
    kept = shelf.add(says("Still here"), ends=None)
    change(kept.run_dir / LEASE_FILE)
    assert is_held(kept.run_dir)
    assert load_run(kept.run_dir).status is Status.RUNNING
    assert ends_in(kept.run_dir) == []
    kept.end()
    assert load_run(kept.run_dir).status is Status.COMPLETED
    assert len(ends_in(kept.run_dir)) == 1


@pytest.mark.parametrize("name", [LEASE_FILE, JOURNAL_FILE])
def test_nobody_else_ends_a_live_run_whose_files_were_replaced(name: str, shelf: Shelf) -> None:
    kept = shelf.add(says("Still here"), ends=None)
    copy = (kept.run_dir / name).read_bytes()
    (kept.run_dir / LEASE_FILE).unlink()
    (kept.run_dir / name).unlink(missing_ok=True)
    (kept.run_dir / name).write_bytes(copy)
    assert take_lease(kept.run_dir) is None
    assert load_run(kept.run_dir).status is Status.RUNNING
    assert ends_in(kept.run_dir) == []


def test_a_dead_run_without_a_lease_file_is_closed_once(shelf: Shelf) -> None:
    kept = shelf.add(says("Gone"), ends=None)
    kept.let_go()
    (kept.run_dir / LEASE_FILE).unlink()
    assert not is_held(kept.run_dir)
    for _ in range(2):
        assert load_run(kept.run_dir).reason is Reason.LOST
    assert len(ends_in(kept.run_dir)) == 1


# --- other versions -----------------------------------------------------------------------------------------------


def locked_file(path: Path) -> int:
    fd = os.open(path, os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return fd


def test_a_run_that_an_older_version_holds_is_running(shelf: Shelf) -> None:
    kept = shelf.add(says("Still here"), ends=None)
    kept.let_go()
    fd = locked_file(kept.run_dir / LEASE_FILE)  # which is all that it did
    assert is_held(kept.run_dir)
    assert load_run(kept.run_dir).status is Status.RUNNING
    assert take_lease(kept.run_dir) is None
    os.close(fd)
    assert load_run(kept.run_dir).reason is Reason.LOST


def test_an_older_version_sees_that_we_hold_a_run(shelf: Shelf) -> None:
    kept = shelf.add(ends=None)
    with pytest.raises(BlockingIOError):
        locked_file(kept.run_dir / LEASE_FILE)
    kept.let_go()
    os.close(locked_file(kept.run_dir / LEASE_FILE))


@pytest.mark.parametrize("version", ["older", "ours"])
def test_a_run_that_is_handed_over_is_held_by_all_signs(version: str, shelf: Shelf) -> None:
    kept = shelf.add(ends=None)
    handed_over = kept.hand_over()
    if version == "older":
        handed_over.release()
        handed_over = Lease(locked_file(kept.run_dir / LEASE_FILE))
    assert is_held(kept.run_dir)
    record, state = adopt(kept.run_dir, handed_over)
    assert state.status is Status.RUNNING
    (kept.run_dir / LEASE_FILE).rename(kept.run_dir / "away")
    assert is_held(kept.run_dir)
    with pytest.raises(BlockingIOError):
        locked_file(kept.run_dir / "away")
    record.append([ending(Reason.SETTLED, None, 5)])
    record.close()
    assert not is_held(kept.run_dir)
    assert load_run(kept.run_dir).status is Status.COMPLETED


def test_a_run_that_is_handed_over_goes_on_in_its_own_directory(shelf: Shelf) -> None:
    kept = shelf.add(ends=None)
    handed_over = kept.hand_over()
    moved = kept.run_dir.rename(kept.run_dir.with_name("moved"))
    kept.run_dir.mkdir()
    record, _state = adopt(kept.run_dir, handed_over)
    record.append([ending(Reason.SETTLED, None, 5)])
    record.close()
    assert b'"settled"' in (moved / JOURNAL_FILE).read_bytes()
    assert list(kept.run_dir.iterdir()) == []


# --- where locks have no effect -----------------------------------------------------------------------------------


def test_a_lock_is_tried_out_with_two_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Directory.at(tmp_path) as folder:
        assert leases.locks_work(folder)
        monkeypatch.setattr("fcntl.flock", lambda _fd, _how: None)
        assert not leases.locks_work(folder)


@pytest.fixture
def network_disk(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Locks on anything in the project have no effect."""
    flock = fcntl.flock

    def without_effect(fd: int, how: int) -> None:
        if not str(Path(f"/proc/self/fd/{fd}").readlink()).startswith(str(shelf.project)):
            flock(fd, how)

    monkeypatch.setattr("fcntl.flock", without_effect)
    return shelf


def held_here(kept: Kept) -> Path:
    status = kept.run_dir.stat()
    (path,) = [
        found
        for folder in private_runtime_dirs()
        for found in folder.glob(f"leases/{status.st_dev:x}-{status.st_ino:x}")
    ]
    return path


def test_where_locks_have_no_effect_a_file_of_this_machine_tells_who_lives(network_disk: Shelf) -> None:
    kept = network_disk.add(says("Still here"), ends=None)
    lease = held_here(kept)
    for _ in range(2):
        assert load_run(kept.run_dir).status is Status.RUNNING
        assert take_lease(kept.run_dir) is None
        (kept.run_dir / LEASE_FILE).unlink(missing_ok=True)
        assert is_held(kept.run_dir), "also without the file that says where to look"
        (kept.run_dir / LEASE_FILE).write_bytes(leases._ELSEWHERE)
    kept.let_go()
    assert load_run(kept.run_dir).reason is Reason.LOST
    assert len(ends_in(kept.run_dir)) == 1
    lease.unlink()


def test_such_a_lease_is_handed_over_too(network_disk: Shelf) -> None:
    kept = network_disk.add(says("Still here"), ends=None)
    handed_over = kept.hand_over()
    assert load_run(kept.run_dir).status is Status.RUNNING
    record, _state = adopt(kept.run_dir, handed_over)
    record.append([ending(Reason.SETTLED, None, 5)])
    assert is_held(kept.run_dir)
    record.close()
    assert not is_held(kept.run_dir)
    held_here(kept).unlink()


def test_where_no_lock_has_an_effect_a_run_is_refused(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "locks_work", lambda _folder: False)
    with pytest.raises(StoreError, match=r"locks have no effect there, nor in .*; work on a local file system"):
        shelf.add()
    assert shelf.runs == []


def test_trying_whether_locks_work_leaves_none_to_a_child_that_is_just_being_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between fork and exec a child has all descriptors, and with them the locks that were only closed, not freed."""
    look, ends, children = leases.is_locked, os.pipe(), []

    def look_while_a_child_is_forked(fd: int) -> bool:
        if (pid := os.fork()) == 0:
            os.close(ends[1])
            os.read(ends[0], 1)
            os._exit(0)
        children.append(pid)
        return look(fd)

    monkeypatch.setattr(leases, "is_locked", look_while_a_child_is_forked)
    try:
        with Directory.at(tmp_path) as run:
            Lease.of_new_run(run).release()
    finally:
        os.close(ends[1])
        os.close(ends[0])
        for pid in children:
            os.waitpid(pid, 0)
    assert children


def test_a_reader_is_told_the_end_that_was_written_between_its_two_looks(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = shelf.add(says("Half way."), ends=None)
    lost.let_go()
    looks: list[bool] = []

    def look(run: Directory) -> bool:
        looks.append(leases.has_holder(run))
        if len(looks) == 2:  # somebody else has just taken it, and is done before the next question
            monkeypatch.setattr(reading, "has_holder", leases.has_holder)
            assert load_run(lost.run_dir).reason is Reason.LOST
            return True
        return looks[-1]

    monkeypatch.setattr(reading, "has_holder", look)
    assert load_run(lost.run_dir).reason is Reason.LOST
    assert len(looks) == 2


def test_a_reader_who_comes_while_another_closes_a_lost_run_waits_for_its_end(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = shelf.add(says("Half way."), ends=None)
    lost.let_go()
    waits = threading.Event()

    def wait(run: Directory, wait_s: float) -> AbstractContextManager[bool]:
        waits.set()
        return leases.closing(run, wait_s)

    monkeypatch.setattr(reading, "closing", wait)
    monkeypatch.setattr(reading, "_CLOSING_S", PATIENCE_S)
    with ThreadPoolExecutor() as pool, Directory.at(lost.run_dir) as run:
        with leases.closing(run, 0):
            lease = taken(lost.run_dir)
            reader = pool.submit(load_run, lost.run_dir)
            until(lambda: waits.is_set() or reader.done(), "the reader waits, or has made up its mind")
            journal = Journal(lost.run_dir / JOURNAL_FILE, run)
            journal.append([ending(Reason.LOST, "It was lost.", 1)])
            journal.close()
            lease.release()
        state = reader.result(PATIENCE_S)
    assert (state.status, state.error) == (Status.FAILED, "It was lost.")
