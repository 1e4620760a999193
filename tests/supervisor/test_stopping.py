"""Asking a run to end: who asked first decides, and the process is gone before anybody is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.store import is_held, request_stop
from pi_subagents.supervisor import Limits, Supervisor
from pi_subagents.supervisor.limits import REAP_S, STOP_GRACE_S
from pi_subagents.testing import FakeProcess, FakeRunner, run_on_virtual_clock
from pi_subagents.testing.records import AGENT_START, agent_end, answer, assistant
from tests.supervisor.kit import FOREVER_S, Meanwhile, printing, see_through, staying, supervised

CANCELLED = ("aborted", "cancelled", "Cancelled")


def stopping(after_s: float, *requests: tuple[Reason, str]) -> Meanwhile:
    async def meanwhile(supervisor: Supervisor) -> None:
        await asyncio.sleep(after_s)
        for reason, message in requests or [(Reason.CANCELLED, "Cancelled")]:
            supervisor.stop(reason, message)

    return meanwhile


def test_an_agent_that_heeds_the_request_ends_at_once(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, staying(AGENT_START), meanwhile=stopping(10))
    assert outcome.verdict == CANCELLED
    assert (outcome.signals, outcome.elapsed_s) == ([("terminate", 10)], 10)


def test_an_agent_that_does_not_is_killed_after_the_documented_grace(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, staying(AGENT_START), ignores=("terminate",), meanwhile=stopping(10))
    assert outcome.verdict == CANCELLED
    assert outcome.signals == [("terminate", 10), ("kill", 10 + STOP_GRACE_S)]


def test_a_process_stuck_in_the_kernel_does_not_hold_up_the_run(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, staying(), ignores=("terminate", "kill"), meanwhile=stopping(10))
    assert outcome.verdict == CANCELLED
    assert outcome.elapsed_s == 10 + STOP_GRACE_S + REAP_S


def test_an_agent_that_settles_because_it_was_asked_to_stop_has_not_completed(tmp_path: Path) -> None:
    async def play(process: FakeProcess) -> int:
        await asyncio.sleep(11)
        process.prints(*answer("I stopped in good order."))
        return 0

    outcome = see_through(tmp_path, play, ignores=("terminate",), meanwhile=stopping(10))
    assert outcome.verdict == CANCELLED
    assert outcome.state.text == "I stopped in good order."


def test_the_first_cause_decides(tmp_path: Path) -> None:
    requests = [(Reason.TIMEOUT, "time is up"), (Reason.CANCELLED, "Cancelled")]
    outcome = see_through(tmp_path, staying(), ignores=("terminate",), meanwhile=stopping(1, *requests))
    assert outcome.verdict == ("failed", "timeout", "time is up")
    assert len([event for event in outcome.journal if isinstance(event, ev.StopRequested)]) == 1


def test_a_cancel_during_the_grace_after_a_timeout_changes_nothing(tmp_path: Path) -> None:
    limits = Limits(timeout_s=60, extension_s=0)
    outcome = see_through(tmp_path, staying(), limits, ignores=("terminate",), meanwhile=stopping(63))
    assert outcome.verdict[:2] == ("failed", "timeout")
    assert outcome.signals == [("terminate", 60), ("kill", 65)]


def test_a_pass_that_ended_but_may_go_on_can_still_be_cancelled(tmp_path: Path) -> None:
    records = [AGENT_START, assistant("so far"), agent_end(will_retry=False)]
    outcome = see_through(tmp_path, staying(*records), meanwhile=stopping(1))
    assert outcome.verdict == CANCELLED


def test_a_stop_after_the_agent_has_gone_does_not_change_how_it_ended(tmp_path: Path) -> None:
    def observer(state: object, events: object) -> None:
        if any(isinstance(event, ev.Exited) for event in events):  # type: ignore[attr-defined]
            supervisors[0].stop()

    async def main() -> str:
        supervisors.append(supervised(tmp_path, FakeRunner(printing(*answer("Done."))), observer=observer))
        return (await supervisors[0].run()).status

    supervisors: list[Supervisor] = []
    assert run_on_virtual_clock(main()) == "completed"


def test_a_run_stopped_before_its_turn_never_starts(tmp_path: Path) -> None:
    async def main() -> tuple[list[FakeProcess], str, bool]:
        runner = FakeRunner(staying())
        supervisor = supervised(tmp_path, runner)
        supervisor.stop()
        state = await supervisor.run()
        return runner.processes, state.status, is_held(tmp_path / "run")

    assert run_on_virtual_clock(main()) == ([], "aborted", False)


def test_another_process_can_ask_for_the_stop(tmp_path: Path) -> None:
    async def ask(_: Supervisor) -> None:
        await asyncio.sleep(100)
        request_stop(tmp_path / "run", "Stopped from another terminal")

    outcome = see_through(tmp_path, staying(), meanwhile=ask)
    assert outcome.verdict == ("aborted", "cancelled", "Stopped from another terminal")
    assert outcome.elapsed_s <= 101


@pytest.mark.parametrize("turns", range(1, 7))
def test_whoever_waits_may_be_cancelled_at_any_moment_and_the_agent_is_still_ended(turns: int, tmp_path: Path) -> None:
    async def main() -> tuple[str, bool, FakeProcess]:
        runner = FakeRunner(staying(AGENT_START))
        supervisor = supervised(tmp_path, runner)
        waiting = asyncio.ensure_future(supervisor.run())
        for _ in range(turns + 4):  # so many steps until it has had its turn and has started
            await asyncio.sleep(0)
        assert runner.processes
        waiting.cancel()
        await asyncio.wait([waiting])
        return supervisor.state.status, is_held(tmp_path / "run"), runner.processes[0]

    status, held, process = run_on_virtual_clock(main())
    assert (status, held) == ("aborted", False)
    assert [name for name, _ in process.signals] == ["terminate"]


def test_a_program_that_ends_while_an_agent_ignores_sigterm_still_ends_it(tmp_path: Path) -> None:
    runner = FakeRunner(staying(AGENT_START), ignores=("terminate",))

    async def main() -> None:
        supervisor = supervised(tmp_path, runner)
        working = asyncio.ensure_future(supervisor.run())
        await asyncio.sleep(1)
        supervisor.stop()
        await asyncio.sleep(1)
        del working  # like asyncio.run, the clock cancels everything that is still at work when this returns

    run_on_virtual_clock(main())
    assert [name for name, _ in runner.processes[0].signals] == ["terminate", "kill"]
    assert not is_held(tmp_path / "run")


def test_nothing_is_left_ticking_after_the_end(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(*answer("Done.")), Limits(timeout_s=FOREVER_S))
    assert outcome.elapsed_s == 0
