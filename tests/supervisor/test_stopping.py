"""Asking a run to end: who asked first decides, and the process is gone before anybody is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pi_subagents.fold import RunState
from pi_subagents.harness import Invocation
from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.runners import Process, Stream
from pi_subagents.store import is_held, request_stop
from pi_subagents.supervisor import Limits, Supervisor
from pi_subagents.supervisor.stopping import ABORT_GRACE_S, REAP_S, STOP_GRACE_S, Stopping, Timers
from pi_subagents.testing import FakeRunner, run_on_virtual_clock
from pi_subagents.testing.records import AGENT_START, agent_end, answer, assistant
from tests.supervisor.kit import CANCELLED, FOREVER_S, printing, see_through, staying, stopping, supervised


@pytest.mark.parametrize(
    ("ignores", "signals", "elapsed_s"),
    [
        pytest.param((), [("terminate", 10)], 10, id="it heeds the request"),
        pytest.param(
            ("terminate",),
            [("terminate", 10), ("kill", 10 + STOP_GRACE_S)],
            10 + STOP_GRACE_S,
            id="it does not, and is killed after the documented grace",
        ),
        pytest.param(
            ("terminate", "kill"),
            [("terminate", 10), ("kill", 10 + STOP_GRACE_S)],
            10 + STOP_GRACE_S + REAP_S,
            id="it is stuck in the kernel, and does not hold up the run",
        ),
    ],
)
def test_an_agent_that_is_asked_to_stop_ends(
    ignores: tuple[str, ...], signals: list[tuple[str, float]], elapsed_s: float, tmp_path: Path
) -> None:
    outcome = see_through(tmp_path, staying(AGENT_START), ignores=ignores, meanwhile=stopping(10))
    assert (outcome.verdict, outcome.signals, outcome.elapsed_s) == (CANCELLED, signals, elapsed_s)


def test_an_agent_that_settles_because_it_was_asked_to_stop_has_not_completed(tmp_path: Path) -> None:
    play = printing(11, answer("I stopped in good order."))
    outcome = see_through(tmp_path, play, ignores=("terminate",), meanwhile=stopping(10))
    assert (outcome.verdict, outcome.state.text) == (CANCELLED, "I stopped in good order.")


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


@pytest.mark.parametrize(("exit_code", "status"), [(0, "completed"), (3, "failed")])
async def test_a_stop_after_the_agent_has_gone_does_not_change_how_it_ended(
    exit_code: int, status: str, tmp_path: Path
) -> None:
    def observer(_: RunState, events: Sequence[ev.Event]) -> None:
        if any(isinstance(event, ev.Exited) for event in events):
            supervisor.stop()

    play = printing(*(answer("Done.") if exit_code == 0 else [AGENT_START]), exit_code=exit_code)
    supervisor = supervised(tmp_path, FakeRunner(play), observer=observer)
    assert (await supervisor.run()).status == status


def test_another_process_can_ask_for_the_stop(tmp_path: Path) -> None:
    async def ask(_: Supervisor) -> None:
        await asyncio.sleep(100)
        request_stop(tmp_path / "run", "Stopped from another terminal")

    outcome = see_through(tmp_path, staying(), meanwhile=ask)
    assert outcome.verdict == ("aborted", "cancelled", "Stopped from another terminal")
    assert outcome.elapsed_s <= 101


@pytest.mark.parametrize("turns", range(1, 7))
async def test_whoever_waits_may_be_cancelled_at_any_moment_and_the_agent_is_still_ended(
    turns: int, tmp_path: Path
) -> None:
    runner = FakeRunner(staying(AGENT_START))
    supervisor = supervised(tmp_path, runner)
    waiting = asyncio.ensure_future(supervisor.run())
    for _ in range(turns + 4):  # so many steps until it has had its turn and has started
        await asyncio.sleep(0)
    (process,) = runner.processes
    waiting.cancel()
    await asyncio.wait([waiting])
    assert (supervisor.state.status, is_held(tmp_path / "run")) == ("aborted", False)
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


# --- the steps, each only after the grace of the one before, and the timers behind them -----------------------


class Nobody:
    """Does not listen."""

    def on_output(self, stream: Stream, data: bytes) -> None: ...

    def on_replaced(self, pid: int, containment: str) -> None: ...

    def on_exit(self, exit_code: int) -> None: ...


@pytest.mark.parametrize(("abort", "asked_s"), [(b"", 0), (b"abort", ABORT_GRACE_S)])
async def test_a_process_is_asked_if_it_can_be_then_signalled_then_killed_then_given_up(
    abort: bytes, asked_s: float
) -> None:
    given_up: list[float] = []

    def give_up(_process: Process) -> None:
        given_up.append(asyncio.get_running_loop().time())

    stopping = Stopping(lambda: abort, Timers(), give_up)
    runner = FakeRunner(staying(), ignores=("terminate", "kill"))
    async with runner.slot(Invocation(("pi",), {}, Path("/"), b"")) as slot:
        process = slot.start(Nobody())
    stopping.begin(process)
    stopping.begin(process)  # whoever asks again changes nothing
    await asyncio.sleep(100)
    assert process.heard == ([abort] if abort else [])
    assert process.input_closed.is_set() == bool(abort), "it hears nothing more"
    assert process.signals == [("terminate", asked_s), ("kill", asked_s + STOP_GRACE_S)]
    assert given_up == [asked_s + STOP_GRACE_S + REAP_S]


class Heard(list[tuple[str, float]]):
    """What went off, and when."""

    def note(self, name: str) -> Callable[[], None]:
        return lambda: self.append((name, asyncio.get_running_loop().time()))


async def test_a_timer_goes_off_once_is_left_as_it_is_while_it_runs_and_can_be_set_again() -> None:
    timers, heard = Timers(), Heard()

    def again() -> None:
        heard.note("first")()
        timers.set("a", 7, heard.note("second"))

    timers.set("a", 5, again)
    timers.set("a", 1, heard.note("sooner"))
    timers.set("b", -3, heard.note("b"))
    await asyncio.sleep(100)
    assert heard == [("b", 0), ("first", 5), ("second", 12)]


@pytest.mark.parametrize(("all_of_them", "left"), [(False, [("b", 5), ("c", 5)]), (True, [])])
async def test_a_cancelled_timer_does_not_go_off(all_of_them: bool, left: list[tuple[str, float]]) -> None:
    timers, heard = Timers(), Heard()
    for name in "abc":
        timers.set(name, 5, heard.note(name))
    timers.cancel("a")
    timers.cancel("a")
    if all_of_them:
        timers.cancel_all()
    await asyncio.sleep(100)
    assert sorted(heard) == left
