"""Deleting sessions: whole or not at all, and nobody gets in between."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pi_subagents.errors import SessionBusy, StoreError
from pi_subagents.files import Directory
from pi_subagents.store import JOURNAL_FILE, Lease
from pi_subagents.store.removal import disk_size, leftovers, remove_leftover, remove_session
from tests.kit.sessions import DAY_S, Kept, Shelf, take_lease


def remove(shelf: Shelf, session_id: str) -> list[Path]:
    return remove_session(shelf.folder, session_id)


def test_all_runs_of_a_session_go_and_nothing_of_it_is_left(shelf: Shelf) -> None:
    first = shelf.add(age_s=20)
    second = shelf.add(age_s=10, session_id=first.session_id)
    other = shelf.add(age_s=15)
    assert remove(shelf, first.session_id) == [first.run_dir, second.run_dir]
    assert shelf.runs == [other.run_dir.name]
    assert not [path for path in shelf.folder.rglob("*") if first.session_id in path.name]


def test_a_session_with_a_run_that_goes_on_stays_whole(shelf: Shelf) -> None:
    first = shelf.add(age_s=20)
    shelf.add(age_s=10, session_id=first.session_id, ends=None)
    with pytest.raises(SessionBusy):
        remove(shelf, first.session_id)
    assert len(shelf.runs) == 2


def test_a_session_that_is_being_resumed_stays(shelf: Shelf) -> None:
    kept = shelf.add()
    claim = Lease.of_session(shelf.folder, kept.session_id)
    assert_stays_while_held(shelf, kept, claim)


def test_a_run_that_somebody_holds_stays_though_it_has_ended(shelf: Shelf) -> None:
    kept = shelf.add()  # its holder is about to write the last derived files
    assert_stays_while_held(shelf, kept, take_lease(kept.run_dir))


def assert_stays_while_held(shelf: Shelf, kept: Kept, lease: Lease | None) -> None:
    assert lease is not None
    with pytest.raises(SessionBusy):
        remove(shelf, kept.session_id)
    assert shelf.runs
    lease.release()
    assert remove(shelf, kept.session_id)


def test_the_runs_cannot_be_taken_by_others_while_they_are_deleted(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = shelf.add()
    seen: list[object] = []
    remove_all = Directory.remove

    def watched(runs: Directory, name: str) -> None:
        path = runs.path / name
        seen.extend([shelf.runs, take_lease(path), Lease.of_session(shelf.folder, kept.session_id)])
        remove_all(runs, name)

    monkeypatch.setattr(Directory, "remove", watched)
    remove(shelf, kept.session_id)
    assert seen == [[], None, None]


def test_a_deletion_that_was_cut_short_leaves_no_half_of_a_run(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = shelf.add()

    def killed(_runs: Directory, _name: str) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Directory, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            remove(shelf, kept.session_id)
    assert shelf.runs == []
    (left,) = [path for path in leftovers(shelf.folder, 0) if path.is_dir()]
    remove_leftover(left)
    assert not left.exists()


def test_a_directory_without_a_journal_is_not_ours_to_delete(shelf: Shelf) -> None:
    kept = shelf.add()
    (kept.run_dir / JOURNAL_FILE).unlink()
    with pytest.raises(StoreError, match="journal"):
        remove(shelf, kept.session_id)
    assert kept.run_dir.is_dir()


def test_what_cannot_be_deleted_is_an_error_in_words(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = shelf.add()

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Directory, "rename", refuse)
    with pytest.raises(StoreError, match=f"cannot delete session {kept.session_id} in .*: Permission denied"):
        remove(shelf, kept.session_id)


def test_only_old_and_abandoned_drafts_are_leftovers(shelf: Shelf) -> None:
    shelf.add()
    runs = shelf.folder
    for name in (".old.new", ".held.new", ".young.new", ".other"):
        (runs / name).mkdir()
    lease = take_lease(runs / ".held.new")
    assert lease is not None
    past = time.time() - 2 * DAY_S
    for name in (".old.new", ".held.new", ".other"):
        os.utime(runs / name, (past, past))
    assert leftovers(runs, time.time() - DAY_S) == [runs / ".old.new"]
    lease.release()


def test_locks_of_sessions_that_are_gone_are_leftovers(shelf: Shelf) -> None:
    assert leftovers(shelf.folder, time.time()) == []
    kept = shelf.add()
    runs = shelf.folder
    for session_id in (kept.session_id, "feedfeedfeedfeed"):
        lease = Lease.of_session(runs, session_id)
        assert lease is not None
        lease.release()
    assert leftovers(runs, 0) == [runs / ".sessions" / "feedfeedfeedfeed"]


def test_the_size_counts_everything_in_a_directory_however_deep_it_is(deep: Path) -> None:
    (deep / "more").write_bytes(b"y" * 100_000)
    assert disk_size(deep) >= 110_000
