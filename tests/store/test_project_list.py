"""The list of known projects: whatever stands in its place, nothing hangs, fills the memory or is led astray."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.sessions import Shelf


@pytest.fixture
def shelf(shelf: Shelf) -> Shelf:
    shelf.add(name="here", indexed=False)
    (shelf.agent_dir / "subagents").mkdir(parents=True)
    return shelf


def list_of(shelf: Shelf) -> Path:
    return shelf.agent_dir / "subagents" / "projects.jsonl"


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 * 1024**3)


ODD: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "huge": huge,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "dangling": lambda path: path.symlink_to(path.parents[2] / "precious"),
    "directory": Path.mkdir,
    "deep": lambda path: path.write_text("[" * 200_000),
    "digits": lambda path: path.write_text("9" * 200_000),
    "numbers": lambda path: path.write_text('7\nnull\n["/"]\n{}\n"\\u0000"\n"\\ud800"\n'),
    "bytes": lambda path: path.write_bytes(b'"\xff"\n\xff\n'),
}


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "new"])
@pytest.mark.parametrize("what", ODD)
def test_whatever_stands_in_its_place_the_project_at_hand_is_listed(
    what: str, indexed: bool, shelf: Shelf, tmp_path: Path
) -> None:
    if indexed:
        shelf.listed()
        list_of(shelf).unlink()
    ODD[what](list_of(shelf))
    for project in (shelf.project, None):
        assert [session.state.name for session in shelf.listed(project=project)] == ["here"]
    assert not (tmp_path / "precious").exists()


def test_a_line_that_is_no_project_hides_no_other(shelf: Shelf) -> None:
    lines = ["[" * 200_000, json.dumps(str(shelf.project)), "nonsense", '"."', '""']
    list_of(shelf).write_text("\n".join(lines))
    assert shelf.index.projects() == [shelf.project]


def test_what_the_list_links_to_is_not_written(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    list_of(shelf).symlink_to(tmp_path / "precious")
    shelf.add(name="another")
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_line_that_was_cut_short_spoils_only_itself(shelf: Shelf) -> None:
    list_of(shelf).write_text('"/half')
    shelf.add(name="another")
    assert shelf.index.projects() == [shelf.project]
