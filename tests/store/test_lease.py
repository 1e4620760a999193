"""Who holds a run is told by the kernel."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.store import LEASE_FILE, Lease, is_held


def taken(folder: Path) -> Lease:
    lease = Lease.take(folder)
    assert lease is not None
    return lease


def test_only_one_can_hold_a_run(tmp_path: Path) -> None:
    lease = taken(tmp_path)
    assert Lease.take(tmp_path) is None
    lease.release()
    taken(tmp_path).release()


def test_a_run_is_held_until_it_is_given_up(tmp_path: Path) -> None:
    lease = taken(tmp_path)
    assert is_held(tmp_path)
    lease.release()
    lease.release()
    assert not is_held(tmp_path)


def test_a_run_without_a_lease_is_held_by_nobody(tmp_path: Path) -> None:
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
