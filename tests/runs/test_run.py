"""Runs and sessions as Python programs have them: listed, found, read back, waited for, stopped, exported, removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents import Reason, Run, Session, SessionBusy, SessionNotFound, Status, sessions
from pi_subagents.clock import now_ms
from pi_subagents.models import event as ev
from pi_subagents.models import new_session_id
from pi_subagents.outcome import ending
from pi_subagents.runs.run import as_they_end
from pi_subagents.runs.sessions import MAX_RUNS_IN_MEMORY
from pi_subagents.store import Index, RunRecord, load_run, publish, stop_request
from tests.kit.sessions import HOUR_S, Shelf, run_id_at, says

pytestmark = pytest.mark.usefixtures("shelf_here")


def queued(shelf: Shelf) -> RunRecord:
    """A run that waits for its turn, held."""
    session_id = new_session_id()
    run_dir = shelf.folder / run_id_at(now_ms(), session_id)
    created = ev.Created(
        at=now_ms(), run_id=run_dir.name, session_id=session_id, name="later", prompt="Do it", cwd="", harness="pi-json"
    )
    return publish(run_dir, {}, created)


# --- sessions ------------------------------------------------------------------------------------------------------


def test_sessions_are_listed_newest_first_each_with_its_latest_run(shelf: Shelf) -> None:
    old = shelf.add(name="old", age_s=3 * HOUR_S)
    resumed = shelf.add(name="first", age_s=2 * HOUR_S)
    shelf.add(says("Better."), name="again", session_id=resumed.session_id)
    again, first = sessions()
    assert [again.id, first.id] == [resumed.session_id, old.session_id]
    assert (again.latest.state.name, again.latest.result.output, again.run_count) == ("again", "Better.", 2)
    assert [run.state.name for run in again.runs] == ["first", "again"]
    assert again.project == shelf.project


def test_sessions_can_be_those_in_one_state_of_all_projects_or_only_some(shelf: Shelf, tmp_path: Path) -> None:
    other = Shelf(tmp_path / "other", shelf.agent_dir)
    (other.project / ".pi").mkdir(parents=True)
    elsewhere = other.add(age_s=3 * HOUR_S)
    failed = shelf.add(ends=Reason.TIMEOUT, age_s=2 * HOUR_S)
    at_work = shelf.add(ends=None)
    assert [session.id for session in sessions(limit=1)] == [at_work.session_id]
    assert [session.id for session in sessions(status=Status.RUNNING)] == [at_work.session_id]
    assert [session.id for session in sessions(status=Status.FAILED)] == [failed.session_id]
    assert [session.id for session in sessions(other.project)] == [elsewhere.session_id]
    assert len(sessions(everywhere=True)) == 3


def test_a_session_is_found_by_the_beginning_of_its_id_or_by_a_run(shelf: Shelf) -> None:
    kept = shelf.add(session_id="a3f7b9c2d1e8f4a1")
    shelf.add(session_id="5b01d8a7e9c2f4a1", age_s=2 * HOUR_S)
    for text in ("a3f7", kept.session_id, kept.run_dir.name):
        assert Session.find(text).id == kept.session_id
    with pytest.raises(SessionNotFound):
        Session.find("0000")


def test_a_session_holds_its_last_runs_and_counts_all_of_them(shelf: Shelf) -> None:
    session_id = new_session_id()
    for age_s in range(MAX_RUNS_IN_MEMORY + 2, 0, -1):
        shelf.add(says("Done."), session_id=session_id, age_s=age_s)
    session = Session.find(session_id)
    assert (len(session.runs), session.run_count) == (MAX_RUNS_IN_MEMORY, MAX_RUNS_IN_MEMORY + 2)
    assert session.message_count == MAX_RUNS_IN_MEMORY + 2
    assert session.runs[-1] is session.latest


def test_a_session_is_removed_as_a_whole_and_not_while_it_runs(shelf: Shelf) -> None:
    first = shelf.add(age_s=2 * HOUR_S)
    shelf.add(session_id=first.session_id)
    busy = shelf.add(ends=None)
    assert len(Session.find(first.session_id).remove()) == 2
    assert shelf.runs == [busy.run_dir.name]
    assert [row["run_id"] for row in Index(shelf.agent_dir).rows()] == [busy.run_dir.name]
    with pytest.raises(SessionBusy):
        Session.find(busy.session_id).remove()


@pytest.mark.parametrize(("kind", "begins"), [("md", "# "), ("html", "<!doctype html>")])
def test_a_session_is_exported_with_all_of_its_runs_and_a_run_alone(shelf: Shelf, kind: str, begins: str) -> None:
    first = shelf.add(says("A tea timer."), age_s=2 * HOUR_S)
    shelf.add(says("With a bell."), session_id=first.session_id)
    session = Session.find(first.session_id)
    page = "".join(session.export(kind))  # type: ignore[arg-type]
    assert page.startswith(begins)
    assert "A tea timer." in page
    assert "With a bell." in page
    alone = "".join(session.latest.export(kind))  # type: ignore[arg-type]
    assert "With a bell." in alone
    assert "A tea timer." not in alone


def test_stopping_a_session_asks_for_the_runs_that_are_not_over(shelf: Shelf) -> None:
    over = shelf.add(age_s=2 * HOUR_S)
    at_work = shelf.add(session_id=over.session_id, ends=None)
    (asked,) = Session.find(over.session_id).stop("Enough.")
    assert asked.run_dir == at_work.run_dir
    assert (stop_request(at_work.run_dir), stop_request(over.run_dir)) == ("Enough.", None)


# --- runs ----------------------------------------------------------------------------------------------------------


def test_a_run_is_read_back_with_its_result_and_its_events(shelf: Shelf) -> None:
    kept = shelf.add(says("A tea timer."), name="docs", profile="reviewer")
    run = Run.load(kept.run_dir)
    assert (run.id, run.session_id, run.project) == (kept.run_dir.name, kept.session_id, shelf.project)
    assert run.is_over
    result = run.result
    assert (result.ok, result.output, result.profile, result.usage.cost) == (True, "A tea timer.", "reviewer", 0.01)
    kinds = [type(event) for event in run.events()]
    assert kinds == [ev.Created, ev.Started, ev.Message, ev.Ended]


async def test_a_run_is_followed_and_watched_as_it_grows(shelf: Shelf) -> None:
    kept = shelf.add(ends=None)
    run = Run.load(kept.run_dir)

    def go_on(_seconds: float) -> None:
        kept.append(says("Done."))
        kept.end()

    followed = [type(event) for event in run.follow(pause=go_on)]
    assert followed == [ev.Created, ev.Started, ev.Message, ev.Ended]
    assert [type(event) async for events in run.watch() for event in events] == followed


def test_waiting_ends_when_the_run_is_over_and_its_holder_has_let_go(shelf: Shelf) -> None:
    kept = shelf.add(says("Done."), ends=None)
    run = Run.load(kept.run_dir)
    with pytest.raises(TimeoutError, match=f"{run.id} is not over"):
        run.wait(0)
    kept.append(ending(Reason.SETTLED, None, now_ms()))
    with pytest.raises(TimeoutError):  # whoever holds it has to clear up yet: it could not be removed
        Run.load(kept.run_dir).wait(0)
    kept.let_go()
    assert run.wait(0).result.output == "Done."
    assert not run.is_over  # what was read before stays as it was


def test_a_run_that_never_started_is_over_though_its_holder_keeps_it_for_its_turn(shelf: Shelf) -> None:
    record = queued(shelf)
    run = Run.load(record.path)
    with pytest.raises(TimeoutError):
        run.wait(0)
    record.append([ending(Reason.CANCELLED, None, now_ms())])
    assert run.wait(0).result.reason is Reason.CANCELLED
    record.close()


def test_of_several_runs_each_is_told_when_it_ends(shelf: Shelf) -> None:
    first, second, third = (shelf.add(ends=None, age_s=age_s) for age_s in (30, 20, 10))
    waiting = as_they_end(Run.load(kept.run_dir) for kept in (first, second, third))
    for kept in (third, first):
        kept.end()
    assert [run.run_dir for run in next(waiting)] == [first.run_dir, third.run_dir]
    second.end(Reason.TIMEOUT)
    assert [run.result.status for run in next(waiting)] == [Status.FAILED]
    assert list(waiting) == []


def test_a_run_that_lost_its_holder_is_waited_for_no_longer(shelf: Shelf) -> None:
    kept = shelf.add(ends=None)
    run = Run.load(kept.run_dir)
    kept.let_go()
    assert run.wait(0).result.reason is Reason.LOST
    assert load_run(kept.run_dir).status is Status.FAILED


def test_the_task_that_goes_on_has_the_session_the_directory_and_the_agent(shelf: Shelf) -> None:
    kept = shelf.add(name="plan", preset="planner")
    task = Run.load(kept.run_dir).resumed_task("Now write it.")
    assert (task.name, task.prompt, task.resume) == ("plan", "Now write it.", kept.session_id)
    assert (task.cwd, task.preset) == (str(shelf.project), "planner")
