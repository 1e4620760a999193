"""The clock is set back between a run and its resume: what was recorded last is the latest all the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from pi_subagents.clock import now_ms
from pi_subagents.models import Reason, Status
from pi_subagents.outcome import ending
from pi_subagents.place import Place
from pi_subagents.runs.listing import Wanted, list_sessions
from pi_subagents.runs.retention import Rule, find_dispensable
from pi_subagents.runs.sessions import find_run_dir
from pi_subagents.store import session_runs
from pi_subagents.surfaces.bridge.run_list import Transcript
from pi_subagents.surfaces.cli.app import app
from pi_subagents.testing import SCRIPTED_AGENT
from tests.kit.sessions import HOUR_S, Kept, Shelf, says

SESSION = "a3f7b9c2d1e8f4a1"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path / "project", tmp_path / "agent")
    (shelf.project / ".pi").mkdir(parents=True)
    monkeypatch.chdir(shelf.project)
    monkeypatch.setenv("PI_AGENT_DIR", str(shelf.agent_dir))
    monkeypatch.setenv(*SCRIPTED_AGENT)
    yield shelf
    shelf.close()


def without_index(shelf: Shelf) -> None:
    shelf.index.path.unlink()
    shelf.index.path.mkdir()


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "disk"])
@pytest.mark.parametrize("with_list", [True, False], ids=["list", "no list"])
def test_a_resumed_run_is_the_latest_of_its_session(shelf: Shelf, with_index: bool, with_list: bool) -> None:
    first = shelf.add(says("An hour ahead."), session_id=SESSION, name="first", age_s=-HOUR_S, ends=Reason.TIMEOUT)
    if not with_list:
        (first.run_dir.parent / ".sessions" / SESSION).unlink()
    if not with_index:
        without_index(shelf)
    done = CliRunner().invoke(app, ["sessions", "resume", SESSION, "Go on", "--json"])
    (result,) = json.loads(done.stdout)
    assert result["runId"] > first.run_dir.name
    (session,) = list_sessions(Place.here(), Wanted(shelf.project))
    assert (session.state.status, session.run_count) == (Status.COMPLETED, 2)
    assert session.run_dir == Path(result["runDir"])
    assert find_run_dir(Place.here(), SESSION) == session.run_dir
    assert list_sessions(Place.here(), Wanted(shelf.project, Status.FAILED)) == []


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
        without_index(shelf)
    (session,) = list_sessions(Place.here(), Wanted(shelf.project))
    assert (session.state.name, session.state.status, session.run_count) == ("second", Status.RUNNING, 2)
    out_of_order.append(ending(Reason.TIMEOUT, "Timed out", now_ms()))
    out_of_order.let_go()
    (session,) = list_sessions(Place.here(), Wanted(shelf.project))
    assert (session.state.name, session.state.status) == ("second", Status.FAILED)


def test_its_age_counts_from_the_end_of_the_run_that_was_made_last(shelf: Shelf, out_of_order: Kept) -> None:
    assert list(find_dispensable(shelf.project, Rule())) == []
    ended = now_ms() - 1000
    out_of_order.append(ending(Reason.TIMEOUT, "Timed out", ended))
    out_of_order.let_go()
    (session,) = find_dispensable(shelf.project, Rule())
    assert (session.name, session.ended_at) == ("second", ended)


def test_its_transcript_tells_the_runs_in_their_order(shelf: Shelf, out_of_order: Kept) -> None:
    out_of_order.append(ending(Reason.SETTLED, None, now_ms()))
    transcript = Transcript(out_of_order.run_dir)
    assert transcript.look()
    assert transcript.text.index("First.") < transcript.text.index("Second.")


def test_a_list_that_lacks_a_run_hides_it_from_no_listing(shelf: Shelf) -> None:
    shelf.add(session_id=SESSION, name="first", age_s=9)
    second = shelf.add(session_id=SESSION, name="second", age_s=6)
    third = shelf.add(session_id=SESSION, name="third", age_s=3)
    (second.run_dir.parent / ".sessions" / SESSION).write_text(f"{second.run_dir.name}\n")
    (session,) = list_sessions(Place.here(), Wanted(shelf.project))
    assert (session.state.name, session.run_dir) == ("third", third.run_dir)
