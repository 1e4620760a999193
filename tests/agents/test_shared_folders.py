"""What a program leaves in `/tmp` is seen, and nothing that anybody else puts there meanwhile."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_subagents.conformance import shared_folders
from pi_subagents.conformance.shared_folders import SharedFolders

SHARED = Path("/tmp")


@pytest.fixture
def name() -> Iterator[str]:
    """A name of nothing in `/tmp`; what a test makes there is a directory and goes with it."""
    name = f"claude-{uuid.uuid4().hex}"
    yield name
    for folder in SHARED.glob(f"*{name}"):
        folder.rmdir()


def folders(root: Path, *needed: Path) -> SharedFolders:
    return SharedFolders(root / "shared", "claude", needed, os.environ)


def run(shared: SharedFolders, script: str) -> str:
    done = subprocess.run(shared.wrap(["sh", "-c", script]), capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def as_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_folders, "_AS_ROOT", ("false",))


def needs_own_mounts(shared: SharedFolders) -> None:
    if not shared.wrap([]):
        pytest.skip("this system does not let a program have mounts of its own")


@pytest.mark.parametrize("is_root", [True, False])
def test_what_a_program_leaves_is_seen_and_not_what_others_do(
    name: str, is_root: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_root:
        as_user(monkeypatch)
    shared = folders(tmp_path)
    needs_own_mounts(shared)
    (SHARED / f"other-{name}").mkdir()
    run(shared, f"mkdir /tmp/{name} && touch /tmp/{name}/file")
    assert shared.left() == {SHARED / name, SHARED / name / "file"}
    assert not (SHARED / name).exists()


def test_what_a_program_needs_is_where_it_was_and_nothing_else(name: str, tmp_path: Path) -> None:
    (SHARED / name).mkdir()
    (SHARED / f"other-{name}").mkdir()
    shared = folders(tmp_path, SHARED / name / "bin" / "program")
    needs_own_mounts(shared)
    seen = run(shared, "ls /tmp").split()
    assert name in seen
    assert f"other-{name}" not in seen
    assert not shared.left()


def test_where_no_program_can_have_its_own_what_has_the_name_of_the_agent_is_its(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_user(monkeypatch)
    monkeypatch.setattr(shared_folders, "_AS_USER", ("false",))
    shared = folders(tmp_path)
    run(shared, f"mkdir /tmp/{name}")
    assert SHARED / name in shared.left()
