"""The name of a run says when it was made and which session it belongs to."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from pi_subagents.models import is_run_id, new_run_id, new_session_id


def test_runs_made_at_once_sort_in_the_order_in_which_they_were_made() -> None:
    ids = [new_run_id(new_session_id()) for _ in range(50)]
    assert ids == sorted(ids)


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the clock, as a program finds it that has just been started."""

    def set_clock(now_ms: int) -> None:
        monkeypatch.setattr(time, "time_ns", lambda: now_ms * 1_000_000)
        monkeypatch.setattr("pi_subagents.models.run._last_ms", 0)

    return set_clock


SESSION = "a3f7b9c2d1e8f4a1"


def test_an_id_says_when_the_run_was_made(set_clock: Callable[[int], None]) -> None:
    set_clock(1_793_541_802_007)
    assert new_run_id(SESSION) == f"20261101T140322007-{SESSION}"


def test_a_resumed_run_sorts_after_the_earlier_ones_though_the_clock_was_set_back(
    set_clock: Callable[[int], None],
) -> None:
    set_clock(1_793_541_802_999)
    first = new_run_id(SESSION)
    set_clock(1_793_538_202_999)
    second = new_run_id(SESSION, after=first)
    third = new_run_id(SESSION, after=second)
    assert [first, second, third] == sorted([first, second, third])
    assert second == f"20261101T140323000-{SESSION}"
    assert is_run_id(third)
    # What is not of this session has the time of the clock.
    assert new_run_id(SESSION).startswith("20261101T1303230")


def test_a_resumed_run_has_the_time_of_the_clock_where_that_is_later(set_clock: Callable[[int], None]) -> None:
    set_clock(1_793_541_802_007)
    assert new_run_id(SESSION, after=f"20261101T140322006-{SESSION}") == f"20261101T140322007-{SESSION}"


@pytest.mark.parametrize("after", ["", "x", "99991231T235959999-a", "20269999T999999999-a", "09990101T000000000-a"])
def test_an_earlier_id_that_makes_no_sense_is_passed_over(set_clock: Callable[[int], None], after: str) -> None:
    set_clock(1_793_541_802_007)
    assert new_run_id(SESSION, after=after) == f"20261101T140322007-{SESSION}"


def test_only_what_was_made_here_is_taken_for_the_name_of_a_run() -> None:
    made = new_run_id(new_session_id())
    assert is_run_id(made)
    assert not any(map(is_run_id, ("", "../x", made[:-1], f"{made}0", f"{made}/..", made.upper() + "Z")))


def test_digits_of_other_scripts_make_no_id() -> None:
    assert is_run_id(f"20261101T140322007-{SESSION}")
    assert not is_run_id(f"\u0662\u0660261101T140322007-{SESSION}")
