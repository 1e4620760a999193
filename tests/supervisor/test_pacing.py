"""A provider that is too busy for one run is left alone by the next, and the run says why it waits."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi_subagents.fold import RunState, fold
from pi_subagents.harness import Invocation
from pi_subagents.harness.pi.pi import PiJson
from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.progress import Window, notice
from pi_subagents.runners import LocalRunner, Runner
from pi_subagents.store import JOURNAL_FILE, Pace, publish, read_journal, request_stop
from pi_subagents.supervisor import Limits, Pacing, Supervisor
from pi_subagents.testing import FakeProcess, FakeRunner, run_on_virtual_clock
from pi_subagents.testing.records import AGENT_START, answer

START_MS = 1_000_000


def supervised(folder: Path, pace: Pace, runner: Runner, provider: str | None = "acme") -> Supervisor:
    """A run in `folder` whose clock is the loop's."""
    created = ev.Created(run_id=folder.name, session_id="s", name="task", prompt="do", cwd="/", harness="pi-json")
    record = publish(folder, {}, created)
    return Supervisor(
        record,
        fold(RunState(), [created]),
        Invocation(("pi",), {}, folder, b"do"),
        PiJson(),
        runner,
        Limits(),
        pacing=Pacing(pace, provider),
        now_ms=lambda: START_MS + int(asyncio.get_running_loop().time() * 1000),
    )


def busy(message: str, delay_ms: int = 10_000) -> dict[str, object]:
    return {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": delay_ms, "errorMessage": message}


async def ends_well(process: FakeProcess) -> int:
    process.prints(AGENT_START, *answer("Done."))
    return 0


def play(folder: Path, message: str, other_provider: str | None = "acme") -> tuple[float, list[ev.AnyEvent]]:
    """One run is told `message` by its provider; how long the next one waits to start, and its journal."""

    async def is_told(process: FakeProcess) -> int:
        process.prints(AGENT_START, busy(message))
        await asyncio.sleep(100)
        process.prints(*answer("Done."))
        return 0

    async def main() -> float:
        loop = asyncio.get_running_loop()
        pace = Pace(folder)
        first = asyncio.ensure_future(supervised(folder / "one", pace, FakeRunner(is_told)).run())
        await asyncio.sleep(1)
        began = loop.time()
        runner = FakeRunner(ends_well)
        await supervised(folder / "two", pace, runner, other_provider).run()
        took = loop.time() - began
        await first
        return took

    took = run_on_virtual_clock(main())
    return took, list(read_journal(folder / "two" / JOURNAL_FILE))


@pytest.mark.parametrize("message", ["429 Too Many Requests", "529 overloaded_error", "Rate limit reached"])
def test_the_next_run_waits_until_the_provider_is_due_again(tmp_path: Path, message: str) -> None:
    took, journal = play(tmp_path, message)
    assert 9 <= took < 11
    (held,) = [event for event in journal if isinstance(event, ev.HeldBack)]
    assert held.provider == "acme"
    assert (notice(held) or "").endswith(" s: acme asked us to slow down")
    window = Window(fold(RunState(), journal[:2]))
    window.apply(held)
    assert any("acme asked us to slow down" in text for _, text in window.live_lines)


def test_other_errors_and_other_providers_hold_nobody_back(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert play(tmp_path / "a", "500 internal error")[0] < 1
    assert play(tmp_path / "b", "429 Too Many Requests", "zoo")[0] < 1


def test_a_run_that_is_held_back_can_be_stopped(tmp_path: Path) -> None:
    async def main() -> tuple[str, int]:
        pace = Pace(tmp_path)
        runner = FakeRunner(ends_well)
        supervisor = supervised(tmp_path / "run", pace, runner)
        pace.slow_down("acme", START_MS + 300_000, START_MS)
        run = asyncio.ensure_future(supervisor.run())
        await asyncio.sleep(5)
        request_stop(tmp_path / "run", "Enough")
        await run
        assert asyncio.get_running_loop().time() < 10
        return supervisor.state.status.value, len(runner.processes)

    assert run_on_virtual_clock(main()) == ("aborted", 0)


def test_nobody_is_held_back_for_longer_than_ten_minutes(tmp_path: Path) -> None:
    pace = Pace(tmp_path)
    pace.slow_down("acme/../x", 10**15, 1000)
    assert pace.resumes_at("acme/../x", 1000) == 1000 + 600_000
    assert pace.resumes_at("acme/../x", 700_000) == 0
    assert pace.resumes_at("other", 1000) == 0


def test_a_directory_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "subagents").write_text("a file")
    pace = Pace(tmp_path)
    pace.slow_down("acme", 5000, 1000)
    assert pace.resumes_at("acme", 1000) == 0


class OneSlot:
    """Room for one agent on the whole machine."""

    def __init__(self) -> None:
        self.is_free = True

    def take(self) -> OneSlot | None:
        was_free, self.is_free = self.is_free, False
        return self if was_free else None

    def release(self) -> None:
        self.is_free = True


def test_a_run_that_its_provider_holds_back_leaves_the_slot_to_others_and_stopping_it_loses_none(
    tmp_path: Path,
) -> None:
    slots = OneSlot()

    async def main() -> RunState:
        pace = Pace(tmp_path)
        pace.slow_down("acme", START_MS + 60_000, START_MS)
        waiting = supervised(tmp_path / "one", pace, LocalRunner("none", slots))
        run = asyncio.ensure_future(waiting.run())
        await asyncio.sleep(5)
        assert slots.is_free
        waiting.stop()
        return await run

    assert run_on_virtual_clock(main()).reason is Reason.CANCELLED
    assert slots.is_free


def test_a_provider_that_becomes_busy_while_a_run_waits_for_a_slot_is_waited_for_without_one(tmp_path: Path) -> None:
    slots = OneSlot()
    taken = slots.take()
    assert taken is not None

    async def main() -> None:
        pace = Pace(tmp_path)
        waiting = supervised(tmp_path / "one", pace, LocalRunner("none", slots))
        run = asyncio.ensure_future(waiting.run())
        await asyncio.sleep(1)
        pace.slow_down("acme", START_MS + 60_000, START_MS + 1000)
        taken.release()
        await asyncio.sleep(5)
        assert slots.is_free
        waiting.stop()
        await run

    run_on_virtual_clock(main())
