"""The name of a run says when it was made and which session it belongs to."""

from __future__ import annotations

from pi_subagents.models import is_run_id, new_run_id, new_session_id


def test_runs_made_at_once_sort_in_the_order_in_which_they_were_made() -> None:
    ids = [new_run_id(new_session_id()) for _ in range(50)]
    assert ids == sorted(ids)


def test_only_what_was_made_here_is_taken_for_the_name_of_a_run() -> None:
    made = new_run_id(new_session_id())
    assert is_run_id(made)
    assert not any(map(is_run_id, ("", "../x", made[:-1], f"{made}0", f"{made}/..", made.upper() + "Z")))
