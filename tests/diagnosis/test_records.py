"""Whether locks can be trusted where the records are: tried out, and by the kind of file system."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from pi_subagents.diagnosis.records import file_system_of, locks_work
from pi_subagents.store import Lease

TABLE = """\
30 22 0:40 / /mnt/team rw,relatime shared:2 - nfs4 server:/export rw
31 30 0:41 / /mnt/team/fast\\040disk rw - xfs /dev/sdb rw
32 22 0:42 / /mnt/te rw - tmpfs tmpfs rw
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/srv", "ext4"),
        ("/mnt/team/project", "nfs4"),
        ("/mnt/team", "nfs4"),
        ("/mnt/team/fast disk/project", "xfs"),
        ("/mnt/teapot", "ext4"),
    ],
)
def test_the_innermost_mount_decides(folder: str, kind: str, tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE, encoding="utf-8")
    assert file_system_of(Path(folder), table) == kind


def test_a_system_without_the_table_is_no_failure(tmp_path: Path) -> None:
    assert file_system_of(tmp_path, tmp_path / "missing") == "unknown"


def test_locks_work_here(tmp_path: Path) -> None:
    assert locks_work(tmp_path)


def test_a_program_that_is_just_being_started_does_not_make_locks_look_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Between fork and exec a child shares every open descriptor, a locked one too; a duplicate does the same.
    release = Lease.release

    def release_while_shared(lease: Lease) -> None:
        threading.Timer(0.1, os.close, [os.dup(lease.fileno())]).start()
        release(lease)

    monkeypatch.setattr(Lease, "release", release_while_shared)
    assert locks_work(tmp_path)
