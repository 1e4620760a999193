"""Where a project begins: what somebody else put into a shared directory makes it nobody's project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi_subagents.paths import project_root
from pi_subagents.profiles import invalidate_profiles_cache, load_presets, presets_dir

STRANGER = 12345
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A directory such as /tmp, with a directory of ours in it."""
    (tmp_path / "shared" / "work").mkdir(parents=True)
    return tmp_path / "shared"


def make(folder: Path, name: str, owner: int | None = None) -> Path:
    path = folder / name
    path.mkdir(parents=True)
    if owner is not None:
        os.chown(path, owner, owner)
    return path


@as_root
@pytest.mark.parametrize("name", [".pi", ".git"])
def test_a_strangers_directory_in_a_shared_one_makes_no_project(shared: Path, name: str) -> None:
    make(shared, name, STRANGER)
    assert project_root(shared / "work", shared / "agent") == shared / "work"


@pytest.mark.parametrize("name", [".pi", ".git"])
def test_a_directory_of_our_own_does(shared: Path, name: str) -> None:
    make(shared, name)
    assert project_root(shared / "work", shared / "agent") == shared


@as_root
def test_a_whole_project_of_somebody_else_is_theirs(shared: Path) -> None:
    make(shared, ".pi", STRANGER)
    os.chown(shared, STRANGER, STRANGER)
    assert project_root(shared / "work", shared / "agent") == shared


@as_root
def test_a_strangers_presets_in_a_shared_directory_are_not_found(shared: Path) -> None:
    folder = make(shared / ".pi", "subagents")
    (folder / "scout.md").write_text("---\nname: scout\ndescription: d\nmodel: a/b\n---\n")
    invalidate_profiles_cache()
    assert list(load_presets(shared / "work", shared / "agent").profiles) == ["scout"]
    os.chown(shared / ".pi", STRANGER, STRANGER)
    assert presets_dir("project", shared / "work", shared / "agent") == shared / "work" / ".pi" / "subagents"
