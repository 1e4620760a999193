"""A session's list gives the order of its runs; which there are, the directory tells."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi_subagents.runs.retention import Rule, find_dispensable
from pi_subagents.runs.sessions import Sessions, find_run_dir
from pi_subagents.store import session_runs
from pi_subagents.store.removal import remove_session
from tests.kit.sessions import Shelf

SESSION = "a3f7b9c2d1e8f4a1"


@pytest.fixture
def three(shelf: Shelf) -> list[Path]:
    """The runs of one session."""
    return [shelf.add(session_id=SESSION, name=name, age_s=9 - at).run_dir for at, name in enumerate("abc")]


def test_a_session_without_a_list_keeps_its_earlier_runs_when_it_goes_on(shelf: Shelf, three: list[Path]) -> None:
    shelf.list_of(SESSION).unlink()
    fourth = shelf.add(session_id=SESSION, age_s=1).run_dir
    assert shelf.list_of(SESSION).read_text() == f"{fourth.name}\n"
    assert session_runs(fourth.parent, SESSION) == [*three, fourth]
    assert remove_session(fourth.parent, SESSION) == [*three, fourth]
    assert shelf.runs == []


@pytest.mark.parametrize("listed", ["0", "1", "2", "20", "01", "12", "102"])
@pytest.mark.parametrize("with_index", [True, False], ids=["index", "disk"])
def test_all_agree_on_the_runs_whatever_the_list_lacks(
    shelf: Shelf, three: list[Path], listed: str, with_index: bool
) -> None:
    shelf.list_of(SESSION).write_text("".join(f"{three[int(digit)].name}\n" for digit in listed))
    if not with_index:
        shelf.lose_index()
    found = Sessions(shelf.place).run_dirs(SESSION)
    assert sorted(found) == three
    (session,) = shelf.listed()
    assert (session.run_dir, session.run_count) == (found[-1], 3)
    assert Sessions(shelf.place).find(SESSION).latest.run_dir == found[-1]
    assert find_run_dir(shelf.place, SESSION) == found[-1]
    (dispensable,) = find_dispensable(shelf.project, Rule())
    assert list(dispensable.run_dirs) == found


@pytest.mark.parametrize(
    ("listed", "order"), [("20", "120"), ("10", "102"), ("2", "012"), ("0", "012"), ("210", "210"), ("", "012")]
)
def test_what_the_list_lacks_has_its_place_by_its_name(
    shelf: Shelf, three: list[Path], listed: str, order: str
) -> None:
    shelf.list_of(SESSION).write_text("".join(f"{three[int(digit)].name}\n" for digit in listed))
    assert session_runs(three[0].parent, SESSION) == [three[int(digit)] for digit in order]


def test_a_list_longer_than_any_session_is_not_read(shelf: Shelf, three: list[Path]) -> None:
    shelf.list_of(SESSION).write_text(
        f"{three[2].name}\n{three[0].name}\n" + f"20260101T000000000-{SESSION}\n" * 20_000
    )
    assert session_runs(three[0].parent, SESSION) == three


def test_however_many_sessions_are_listed_their_project_is_listed_once(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        shelf.add(session_id=f"{number % 6:016x}", age_s=100 - number)
    looked: list[object] = []
    listdir = os.listdir

    def look(path: int) -> list[str]:
        looked.append(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", look)
    assert len(shelf.listed()) == 6
    listed = len(looked)
    assert len(list(find_dispensable(shelf.project, Rule()))) == 6
    assert listed == 1
    assert len(looked) == 2
