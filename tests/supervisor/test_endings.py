"""How a run ends, decided by what its agent said and did."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.runners import SpawnFailed
from pi_subagents.supervisor import Supervisor
from pi_subagents.supervisor.supervisor import QUIET_GRACE_S, SETTLE_GRACE_S
from pi_subagents.testing.fakes import FakeProcess
from pi_subagents.testing.records import (
    AGENT_SETTLED,
    AGENT_START,
    Record,
    agent_end,
    answer,
    assistant,
    tool_call,
    tool_result,
)
from tests.supervisor.kit import FOREVER_S, printing, see_through, staying

COMPLETED = ("completed", "settled", None)


def test_an_agent_that_settles_and_exits_has_completed(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(*answer("Done.")))
    assert outcome.verdict == COMPLETED
    assert outcome.state.text == "Done."
    assert outcome.signals == []


def test_an_agent_that_settles_and_stays_is_stopped_after_two_seconds_and_has_completed(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, staying(*answer("Done.")))
    assert outcome.verdict == COMPLETED
    assert outcome.signals == [("terminate", SETTLE_GRACE_S)]
    assert outcome.state.exit_code == 143


def test_an_agent_that_settles_and_ignores_sigterm_is_killed_and_has_completed(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, staying(*answer("Done.")), ignores=("terminate",))
    assert outcome.verdict == COMPLETED
    assert outcome.signals == [("terminate", 2), ("kill", 7)]


def test_an_agent_that_goes_on_after_settling_is_left_alone(tmp_path: Path) -> None:
    async def play(process: FakeProcess) -> int:
        process.prints(*answer("First."))
        await asyncio.sleep(1.5)
        process.prints(AGENT_START)
        await asyncio.sleep(60)
        process.prints(*answer("Second."))
        return 0

    outcome = see_through(tmp_path, play)
    assert outcome.verdict == COMPLETED
    assert (outcome.state.text, outcome.signals, outcome.elapsed_s) == ("Second.", [], 61.5)


def test_an_agent_that_ended_its_pass_without_settling_gets_longer_to_exit(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, staying(AGENT_START, assistant("Done."), agent_end(will_retry=False)))
    assert outcome.verdict == COMPLETED
    assert outcome.signals == [("terminate", QUIET_GRACE_S)]


def test_a_version_that_never_says_it_settled_has_completed(tmp_path: Path) -> None:
    records = [AGENT_START, assistant("Done."), agent_end(will_retry=None)]
    assert see_through(tmp_path / "exits", printing(*records)).verdict == COMPLETED
    stayed = see_through(tmp_path / "stays", staying(*records))
    assert (stayed.verdict, stayed.signals) == (COMPLETED, [("terminate", SETTLE_GRACE_S)])


@pytest.mark.parametrize("exit_code", [0, 1, 127])
def test_an_agent_that_exits_without_settling_has_failed(exit_code: int, tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(AGENT_START, assistant("Half of it"), exit_code=exit_code))
    assert outcome.verdict == ("failed", "exit", f"Sub-agent exited with code {exit_code} before it finished")
    assert outcome.state.text == "Half of it"


def test_a_pass_that_announces_a_retry_is_no_end(tmp_path: Path) -> None:
    records = [AGENT_START, assistant(stop_reason="error", error="429"), agent_end(will_retry=True)]
    failed = see_through(tmp_path / "exits", printing(*records))
    assert failed.verdict == ("failed", "exit", "Sub-agent exited with code 0 before it finished: 429")
    recovered = see_through(tmp_path / "recovers", printing(*records, *answer("Done.")))
    assert recovered.verdict == COMPLETED


def test_a_failed_last_turn_fails_the_run_with_the_agents_own_message(tmp_path: Path) -> None:
    records = [AGENT_START, assistant(stop_reason="error", error="500 from the model"), agent_end(), AGENT_SETTLED]
    outcome = see_through(tmp_path, printing(*records))
    assert outcome.verdict == ("failed", "agent_error", "500 from the model")


def test_a_tool_error_that_the_agent_recovered_from_does_not_fail_the_run(tmp_path: Path) -> None:
    records = [
        AGENT_START,
        assistant("Let me look.", tool_call("bash", command="cat nothing")),
        tool_result("bash", "No such file", is_error=True),
        *answer("It is not there."),
    ]
    assert see_through(tmp_path, printing(*records)).verdict == COMPLETED


def test_an_agent_that_settled_and_then_failed_to_exit_cleanly_has_failed(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(*answer("Done."), exit_code=3))
    assert outcome.verdict == ("failed", "exit", "Sub-agent exited with code 3")


def test_an_agent_that_cannot_be_started_fails_with_the_documented_sentence(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(), fails_with=SpawnFailed("pi: not found"))
    assert outcome.verdict == ("failed", "spawn", "Failed to spawn sub-agent process")
    assert [event.text for event in outcome.journal if isinstance(event, ev.Stderr)] == ["pi: not found"]


@pytest.mark.parametrize("exit_code", [126, 127])
def test_a_wrapper_that_could_not_start_the_agent_counts_as_a_failed_start(exit_code: int, tmp_path: Path) -> None:
    async def play(process: FakeProcess) -> int:
        process.writes(b"sh: 1: pi: not found\n", "stderr")
        return exit_code

    outcome = see_through(tmp_path, play)
    assert outcome.verdict == ("failed", "spawn", "Failed to spawn sub-agent process")


def test_a_task_that_cannot_be_run_ends_without_a_process(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(), problem='Unknown profile: "x". Available profiles: (none)')
    assert outcome.verdict == ("failed", "invalid", 'Unknown profile: "x". Available profiles: (none)')
    assert outcome.process is None


@pytest.mark.parametrize("reason", [Reason.CANCELLED, Reason.TIMEOUT])
def test_a_stop_after_the_agent_settled_does_not_spoil_its_result(reason: Reason, tmp_path: Path) -> None:
    async def stop(supervisor: Supervisor) -> None:
        await asyncio.sleep(1)
        supervisor.stop(reason, "too late")

    outcome = see_through(tmp_path, staying(*answer("Done.")), meanwhile=stop)
    assert outcome.verdict == COMPLETED
    assert outcome.signals == [("terminate", 1)]


HISTORIES: dict[str, list[Record]] = {
    "a loop, then an answer": [
        AGENT_START,
        *[assistant("", tool_call("bash", command="ls"))] * 5,
        *answer("Done."),
    ],
    "an answer": answer("Done."),
    "a failed turn": [AGENT_START, assistant(stop_reason="error", error="500"), agent_end(), AGENT_SETTLED],
    "no end": [AGENT_START, assistant("Half")],
}


@pytest.mark.parametrize("history", HISTORIES)
def test_how_the_output_arrives_does_not_change_how_the_run_ends(history: str, tmp_path: Path) -> None:
    records = HISTORIES[history]

    async def all_at_once(process: FakeProcess) -> int:
        process.prints(*records)
        return 0

    one_by_one = see_through(tmp_path / "one by one", printing(*records))
    together = see_through(tmp_path / "together", all_at_once)
    assert together.verdict == one_by_one.verdict


def test_the_journal_ends_with_the_exit_and_the_verdict(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(*answer("Done.")))
    assert [type(event) for event in outcome.journal[:2]] == [ev.Created, ev.Started]
    assert [type(event) for event in outcome.journal[-2:]] == [ev.Exited, ev.Ended]
    assert outcome.elapsed_s < FOREVER_S
