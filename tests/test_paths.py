"""Where a project begins: what somebody else put into a shared directory makes it nobody's project."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.paths import find_program, project_root
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


@pytest.mark.parametrize("name", ["tool", "./tool", "missing", "folder", "closed/tool"])
@pytest.mark.parametrize("path", [None, "", "closed:bin", "bin", ":bin", "no-such"])
def test_a_program_is_found_where_a_shell_finds_it(
    name: str, path: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("", "bin", "closed"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "tool").touch(mode=0o700)
    (tmp_path / "bin" / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PATH", raising=False)
    assert find_program(name, path) == shutil.which(name, path=path)


def test_a_directory_that_we_may_not_look_into_hides_no_program_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "tool"
    tool.touch(mode=0o700)
    closed, real = tmp_path / "closed", os.stat

    def refuse(path: Any, *rest: Any, **options: Any) -> os.stat_result:
        if isinstance(path, str | Path) and str(path).startswith(str(closed)):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *rest, **options)

    monkeypatch.setattr(os, "stat", refuse)
    assert find_program("tool", f"{closed}:{tmp_path}") == str(tool)
