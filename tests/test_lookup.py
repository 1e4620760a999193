"""From what people type to a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.errors import InvalidCall, SessionNotFound
from pi_subagents.lookup import find_session_id, session_ids
from pi_subagents.planning import Place
from tests.session_kit import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path / "project", tmp_path / "agent")
    (shelf.project / ".pi").mkdir(parents=True)
    return shelf


def find(shelf: Shelf, text: str) -> str:
    return find_session_id(Place(shelf.project, shelf.agent_dir, {}), text)


@pytest.mark.parametrize("text", ["abcd1111aaaaaaaa", "abcd1111", "abcd", "ABCD11", " abcd "])
def test_an_id_or_its_beginning_is_enough(shelf: Shelf, text: str) -> None:
    shelf.add(session_id="abcd1111aaaaaaaa")
    shelf.add(session_id="abce1111aaaaaaaa")
    assert find(shelf, text) == "abcd1111aaaaaaaa"


def test_a_session_of_another_project_is_found(shelf: Shelf, tmp_path: Path) -> None:
    Shelf(tmp_path / "other", shelf.agent_dir).add(session_id="abcd1111aaaaaaaa")
    assert find(shelf, "abcd") == "abcd1111aaaaaaaa"


def test_a_session_that_is_not_in_the_index_is_found(shelf: Shelf) -> None:
    shelf.add(session_id="abcd1111aaaaaaaa", indexed=False)
    assert find(shelf, "abcd") == "abcd1111aaaaaaaa"


def test_a_beginning_that_fits_several_is_an_error_that_names_them(shelf: Shelf) -> None:
    shelf.add(session_id="abcd1111aaaaaaaa", name="older", age_s=20)
    shelf.add(session_id="abcd2222aaaaaaaa", name="newer", age_s=10)
    with pytest.raises(
        InvalidCall, match=r'"abcd" begins several .*: abcd2222aaaaaaaa \(newer\), abcd1111aaaaaaaa \(older\)'
    ):
        find(shelf, "abcd")
    assert find(shelf, "abcd2") == "abcd2222aaaaaaaa"


@pytest.mark.parametrize("text", ["abc", "ffff", "", "../..", "ab*d", "abcd%"])
def test_everything_else_is_not_found_in_the_documented_words(shelf: Shelf, text: str) -> None:
    shelf.add(session_id="abcd1111aaaaaaaa")
    with pytest.raises(SessionNotFound, match=r"not found\. The session may have expired or the ID is incorrect\."):
        find(shelf, text)


def test_ids_for_completion_come_newest_first(shelf: Shelf) -> None:
    shelf.add(session_id="bbbb1111aaaaaaaa", name="older", age_s=20)
    shelf.add(session_id="aaaa1111aaaaaaaa", name="newer", age_s=10)
    place = Place(shelf.project, shelf.agent_dir, {})
    assert session_ids(place) == {"aaaa1111aaaaaaaa": "newer", "bbbb1111aaaaaaaa": "older"}
    assert list(session_ids(place)) == ["aaaa1111aaaaaaaa", "bbbb1111aaaaaaaa"]
    assert list(session_ids(place, "b")) == ["bbbb1111aaaaaaaa"]
