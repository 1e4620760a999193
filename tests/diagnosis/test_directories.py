"""Whether locks can be trusted where the records are: tried out, and by the kind of file system."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.diagnosis.directories import file_system_of
from pi_subagents.files import Directory
from pi_subagents.store import locks_work

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
    with Directory.at(tmp_path) as folder:
        assert locks_work(folder)
