"""The clock is set back between a run and its resume: what was recorded last is the latest all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.clock import now_ms
from pi_subagents.models import Reason, Status
from pi_subagents.place import Place
from pi_subagents.runs.retention import Rule, find_dispensable
from pi_subagents.runs.sessions import find_run_dir
from pi_subagents.store import session_runs
from pi_subagents.surfaces.bridge.run_list import Transcript
from tests.kit.command import called_json
from tests.kit.sessions import HOUR_S, Kept, Shelf, says

SESSION = "a3f7b9c2d1e8f4a1"

pytestmark = pytest.mark.usefixtures("shelf_here")


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "disk"])
@pytest.mark.parametrize("with_list", [True, False], ids=["list", "no list"])
def test_a_resumed_run_is_the_latest_of_its_session(shelf: Shelf, with_index: bool, with_list: bool) -> None:
    first = shelf.add(says("An hour ahead."), session_id=SESSION, name="first", age_s=-HOUR_S, ends=Reason.TIMEOUT)
    if not with_list:
        shelf.list_of(SESSION).unlink()
    if not with_index:
        shelf.lose_index()
    (result,) = called_json("sessions", "resume", SESSION, "Go on", "--json")
    assert result["runId"] > first.run_dir.name
    (session,) = shelf.listed()
    assert (session.state.status, session.run_count) == (Status.COMPLETED, 2)
    assert session.run_dir == Path(result["runDir"])
    assert find_run_dir(Place.here(), SESSION) == session.run_dir
    assert shelf.listed(status=Status.FAILED) == []


@pytest.fixture
def out_of_order(shelf: Shelf) -> Kept:
    """A session of an earlier version: its second run, at work, has a name that sorts before its first."""
    shelf.add(says("First."), session_id=SESSION, name="first", age_s=-HOUR_S)
    second = shelf.add(says("Second."), session_id=SESSION, name="second", age_s=60, ends=None)
    assert [folder.name for folder in session_runs(second.run_dir.parent, SESSION)][-1] == second.run_dir.name
    return second


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "disk"])
def test_of_names_out_of_order_the_sessions_list_knows_the_latest(
    shelf: Shelf, out_of_order: Kept, with_index: bool
) -> None:
    if not with_index:
        shelf.lose_index()
    (session,) = shelf.listed()
    assert (session.state.name, session.state.status, session.run_count) == ("second", Status.RUNNING, 2)
    out_of_order.end(Reason.TIMEOUT, "Timed out")
    (session,) = shelf.listed()
    assert (session.state.name, session.state.status) == ("second", Status.FAILED)


def test_its_age_counts_from_the_end_of_the_run_that_was_made_last(shelf: Shelf, out_of_order: Kept) -> None:
    assert list(find_dispensable(shelf.project, Rule())) == []
    ended = now_ms() - 1000
    out_of_order.end(Reason.TIMEOUT, "Timed out", ended)
    (session,) = find_dispensable(shelf.project, Rule())
    assert (session.name, session.ended_at) == ("second", ended)


def test_its_transcript_tells_the_runs_in_their_order(shelf: Shelf, out_of_order: Kept) -> None:
    out_of_order.end()
    transcript = Transcript(out_of_order.run_dir)
    assert transcript.look()
    assert transcript.text.index("First.") < transcript.text.index("Second.")
