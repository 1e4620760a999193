"""What is written down, in which order, and what happens when it cannot be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState, fold
from pi_subagents.harness.pi.rpc import PiRpc
from pi_subagents.models import event as ev
from pi_subagents.store import JOURNAL_FILE, RESULT_FILE, Journal, RunRecord, is_held, load_run, read_journal
from pi_subagents.testing import FakeProcess, FakeRunner
from pi_subagents.testing.fakes import Play
from pi_subagents.testing.records import AGENT_START, answer
from tests.supervisor.kit import COMPLETED, printing, see_through, staying, supervised

FULL = StoreError("cannot write the journal: No space left on device")
RECORD_LOST = ("failed", "record", str(FULL))


def fail(*_: object) -> None:
    raise FULL


def test_the_journal_folds_to_the_state_that_was_reported(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(*answer("Done.")))
    assert fold(RunState(), outcome.journal) == outcome.state


def test_the_lease_is_held_until_the_result_is_there(tmp_path: Path) -> None:
    held_at_end: list[bool] = []

    def observer(state: RunState, _: Sequence[ev.Event]) -> None:
        if state.status.is_terminal:
            held_at_end.append(is_held(tmp_path / "run"))

    outcome = see_through(tmp_path, printing(*answer("Done.")), observer=observer)
    result = json.loads((outcome.run_dir / RESULT_FILE).read_bytes())
    assert (result["status"], result["finalText"]) == ("completed", "Done.")
    assert held_at_end == [True]
    assert not is_held(outcome.run_dir)


def test_a_failing_observer_does_not_cost_the_run_its_result(tmp_path: Path) -> None:
    def observer(_: RunState, __: Sequence[ev.Event]) -> None:
        raise RuntimeError("somebody else's bug")

    assert see_through(tmp_path, printing(*answer("Done.")), observer=observer).state.status == "completed"


@pytest.mark.parametrize("kind", [ev.Started, ev.Message, ev.AgentSettled, ev.Exited, ev.Ended])
def test_a_journal_that_cannot_take_an_event_stops_the_run_and_it_has_failed(
    kind: type[ev.Event], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Journal.append

    def fail_at_kind(journal: Journal, events: Sequence[ev.Event]) -> None:
        if any(isinstance(event, kind) for event in events):
            raise FULL
        append(journal, events)

    shown: list[str] = []
    monkeypatch.setattr(Journal, "append", fail_at_kind)
    outcome = see_through(
        tmp_path, staying(*answer("Done.")), observer=lambda state, _: shown.append(state.status.value)
    )
    assert outcome.verdict == RECORD_LOST
    assert "completed" not in shown
    assert shown[-1] == "failed"
    assert len(outcome.signals) == 1
    assert _result_status(outcome.run_dir) in ("failed", None)
    assert load_run(outcome.run_dir).status == "failed"


async def test_a_journal_that_does_not_reach_the_disk_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = FakeRunner(staying())
    supervisor = supervised(tmp_path, runner)
    monkeypatch.setattr(Journal, "sync", fail)
    state = await supervisor.run()
    assert (state.status, state.error) == ("failed", str(FULL))
    assert runner.processes[0].signals == [("terminate", 0)]


async def test_what_an_agent_is_told_while_it_works_is_journalled_without_secrets(tmp_path: Path) -> None:
    runner = FakeRunner(staying(AGENT_START))
    supervisor = supervised(tmp_path, runner, harness=PiRpc(), secrets=["sk-very-secret"])
    run = asyncio.ensure_future(supervisor.run())
    await asyncio.sleep(1)
    assert supervisor.steer("Use sk-very-secret now") is None
    supervisor.stop()
    await run
    assert any(b"Use sk-very-secret now" in said for said in runner.processes[0].heard)
    journal = read_journal(tmp_path / "run" / JOURNAL_FILE)
    assert [event.text for event in journal if isinstance(event, ev.SteerRequested)] == ["Use [redacted] now"]


@pytest.mark.parametrize(("play", "reusable"), [(printing(*answer("Done.")), True), (staying(*answer("Done.")), False)])
def test_an_agent_that_had_to_be_ended_is_not_given_back_for_another_task(
    play: Play, reusable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[bool] = []
    monkeypatch.setattr(FakeProcess, "release", lambda _, *, reusable: released.append(reusable))
    assert (see_through(tmp_path, play).verdict, released) == (COMPLETED, [reusable])


@pytest.mark.parametrize(
    ("problem", "verdict"), [(None, RECORD_LOST), ("Unknown profile", ("failed", "invalid", "Unknown profile"))]
)
def test_a_run_whose_result_cannot_be_written_has_failed_on_disk_too_and_keeps_an_earlier_reason(
    problem: str | None, verdict: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunRecord, "draft_result", fail)
    outcome = see_through(tmp_path, printing(*answer("Done.")), problem=problem)
    assert outcome.verdict == verdict
    assert fold(RunState(), outcome.journal).status == "failed"
    assert outcome.state.text == ("" if problem else "Done.")


def _result_status(run_dir: Path) -> str | None:
    path = run_dir / RESULT_FILE
    return json.loads(path.read_bytes())["status"] if path.exists() else None
