"""From what people type to a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.errors import AmbiguousId, SessionNotFound
from pi_subagents.runs.sessions import find_run_dir, find_session, sessions_beginning, short_run_ids
from tests.kit.sessions import HOUR_S, Shelf


def find(shelf: Shelf, text: str) -> str:
    return find_session(shelf.place, text).id


@pytest.mark.parametrize("text", ["abcd1111aaaaaaaa", "abcd1111", "abcd", "ABCD11", " abcd ", "abcd1"])
def test_an_id_or_its_beginning_is_enough(shelf: Shelf, text: str) -> None:
    shelf.add(session_id="abcd1111aaaaaaaa")
    shelf.add(session_id="abce1111aaaaaaaa")
    assert find(shelf, text) == "abcd1111aaaaaaaa"


@pytest.mark.parametrize("where", ["here", "in another project", "missing in the index"])
def test_one_character_is_enough_where_no_other_id_begins_with_it(where: str, shelf: Shelf, tmp_path: Path) -> None:
    home = Shelf(tmp_path / "other", shelf.agent_dir) if where == "in another project" else shelf
    home.add(session_id="abcd1111aaaaaaaa", indexed=where != "missing in the index")
    shelf.add(session_id="bbcd1111aaaaaaaa")
    assert find(shelf, "a") == "abcd1111aaaaaaaa"


def test_a_beginning_that_fits_several_is_an_error_that_names_them(shelf: Shelf) -> None:
    shelf.add(session_id="abcd1111aaaaaaaa", name="older", age_s=2.5 * HOUR_S)
    shelf.add(session_id="abcd2222aaaaaaaa", name="newer", age_s=1.5 * HOUR_S)
    with pytest.raises(AmbiguousId) as caught:
        find(shelf, "abcd")
    assert str(caught.value).splitlines() == [
        '"abcd" matches 2 session ids; give a longer prefix:',
        "  abcd2222    1h ago  newer",
        "  abcd1111    2h ago  older",
    ]
    assert find(shelf, "abcd2") == "abcd2222aaaaaaaa"


@pytest.mark.parametrize("text", ["ffff", "", "../..", "ab*d", "abcd%"])
def test_everything_else_is_not_found_in_the_documented_words(shelf: Shelf, text: str) -> None:
    shelf.add(session_id="abcd1111aaaaaaaa")
    with pytest.raises(SessionNotFound, match=r"not found\. The session may have expired or the ID is incorrect\."):
        find(shelf, text)


def test_ids_for_completion_come_newest_first(shelf: Shelf) -> None:
    shelf.add(session_id="bbbb1111aaaaaaaa", name="older", age_s=20)
    shelf.add(session_id="aaaa1111aaaaaaaa", name="newer", age_s=10)
    found = [(one.id, one.name) for one in sessions_beginning(shelf.place)]
    assert found == [("aaaa1111aaaaaaaa", "newer"), ("bbbb1111aaaaaaaa", "older")]
    assert [one.id for one in sessions_beginning(shelf.place, "b")] == ["bbbb1111aaaaaaaa"]


def test_a_run_stands_for_its_session_and_a_session_for_its_latest_run(shelf: Shelf) -> None:
    earlier = shelf.add(session_id="abcd1111aaaaaaaa", age_s=20)
    later = shelf.add(session_id="abcd1111aaaaaaaa", age_s=10)
    assert find(shelf, earlier.run_dir.name[:18]) == "abcd1111aaaaaaaa"
    assert find(shelf, earlier.run_dir.name[:18].lower()) == "abcd1111aaaaaaaa"
    assert find_run_dir(shelf.place, "ab") == later.run_dir
    assert find_run_dir(shelf.place, earlier.run_dir.name[:18]) == earlier.run_dir


def test_digits_mean_the_session_that_begins_so_before_the_runs_of_that_date(shelf: Shelf) -> None:
    run = shelf.add(session_id="20ab1111aaaaaaaa")
    shelf.add(session_id="ffff1111aaaaaaaa")
    assert find(shelf, "20") == "20ab1111aaaaaaaa"
    with pytest.raises(AmbiguousId, match='"202" matches 2 run ids'):
        find(shelf, "202")
    assert find(shelf, run.run_dir.name[:19]) == "20ab1111aaaaaaaa"


def test_what_is_shown_of_a_run_leads_back_to_it(shelf: Shelf) -> None:
    added = [
        shelf.add(session_id=session_id, age_s=40 - number).run_dir
        for number, session_id in enumerate(
            ["abcd1111aaaaaaaa", "abcd1111aaaaaaaa", "abcd1111abbbbbbb", "beef1111aaaaaaaa"]
        )
    ]
    shown = short_run_ids(added)
    assert list(shown.values()) == [added[0].name[:18], "abcd1111aa", "abcd1111ab", "beef1111"]
    assert [find_run_dir(shelf.place, text) for text in shown.values()] == added
