"""A provider that is too busy for one run is left alone by the next, and the run says why it waits."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi_subagents.fold import RunState, fold
from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.progress import Window, notice
from pi_subagents.runners import LocalRunner
from pi_subagents.store import JOURNAL_FILE, Pace, read_journal, request_stop
from pi_subagents.supervisor import Pacing
from pi_subagents.testing import FakeRunner
from pi_subagents.testing.records import AGENT_START, answer
from tests.kit.slots import FakeSlots
from tests.supervisor.kit import START_MS, printing, supervised


async def play(folder: Path, message: str, other_provider: str | None = "acme") -> tuple[float, list[ev.AnyEvent]]:
    """One run is told `message` by its provider; how long the next one waits to start, and its journal."""
    busy = {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 10_000, "errorMessage": message}

    is_told = FakeRunner(printing(AGENT_START, busy, 100, answer("Done.")))
    first = asyncio.ensure_future(supervised(folder, is_told, provider="acme", run="one").run())
    await asyncio.sleep(1)
    await supervised(folder, FakeRunner(printing(answer("Done."))), provider=other_provider, run="two").run()
    took = asyncio.get_running_loop().time() - 1
    await first
    return took, list(read_journal(folder / "two" / JOURNAL_FILE))


@pytest.mark.parametrize("message", ["429 Too Many Requests", "529 overloaded_error", "Rate limit reached"])
async def test_the_next_run_waits_until_the_provider_is_due_again(tmp_path: Path, message: str) -> None:
    took, journal = await play(tmp_path, message)
    assert 9 <= took < 11
    (held,) = [event for event in journal if isinstance(event, ev.HeldBack)]
    assert held.provider == "acme"
    assert (notice(held) or "").endswith(" s: acme asked us to slow down")
    window = Window(fold(RunState(), journal[:2]))
    window.apply(held)
    assert any("acme asked us to slow down" in text for _, text in window.live_lines)


@pytest.mark.parametrize(
    ("message", "other_provider"), [("500 internal error", "acme"), ("429 Too Many Requests", "zoo")]
)
async def test_other_errors_and_other_providers_hold_nobody_back(
    message: str, other_provider: str, tmp_path: Path
) -> None:
    took, _ = await play(tmp_path, message, other_provider)
    assert took < 1


@pytest.mark.parametrize(
    ("provider", "model", "asked"),
    [("acme", "zoo/large", "acme"), (None, "zoo/large", "zoo"), (None, "large", "default"), (None, None, "default")],
)
def test_a_provider_is_known_from_the_model_too(
    provider: str | None, model: str | None, asked: str, tmp_path: Path
) -> None:
    state = RunState(provider=provider, model=model)
    assert Pacing(Pace(tmp_path), "default").provider_of(state) == asked


def test_nobody_is_held_back_for_longer_than_ten_minutes(tmp_path: Path) -> None:
    pace = Pace(tmp_path)
    pace.slow_down("acme/../x", 10**15, 1000)
    assert pace.resumes_at("acme/../x", 1000) == 1000 + 600_000
    pace.slow_down("acme/../x", 2000, 1000)
    assert pace.resumes_at("acme/../x", 1000) == 1000 + 600_000, "who asks for less does not shorten it"
    assert pace.resumes_at("acme/../x", 700_000) == 0
    assert pace.resumes_at("other", 1000) == 0
    (tmp_path / "subagents" / "pace" / "other").write_text("999999999")  # the clock was set back since
    assert pace.resumes_at("other", 1000) == 0


def test_a_directory_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "subagents").write_text("a file")
    pace = Pace(tmp_path)
    pace.slow_down("acme", 5000, 1000)
    assert pace.resumes_at("acme", 1000) == 0


@pytest.mark.parametrize("asked", ["here", "by another process"])
async def test_a_run_that_its_provider_holds_back_leaves_the_slot_to_others_and_stopping_it_loses_none(
    asked: str, tmp_path: Path
) -> None:
    slots = FakeSlots(1)
    Pace(tmp_path).slow_down("acme", START_MS + 300_000, START_MS)
    waiting = supervised(tmp_path, LocalRunner("none", slots), provider="acme")
    run = asyncio.ensure_future(waiting.run())
    await asyncio.sleep(5)
    assert slots.free == 1
    if asked == "here":
        waiting.stop()
    else:
        request_stop(tmp_path / "run", "Enough")
    assert (await run).reason is Reason.CANCELLED
    assert (slots.free, asyncio.get_running_loop().time() < 10) == (1, True)


async def test_a_provider_that_becomes_busy_while_a_run_waits_for_a_slot_is_waited_for_without_one(
    tmp_path: Path,
) -> None:
    slots = FakeSlots(1)
    taken = slots.take()
    assert taken is not None
    waiting = supervised(tmp_path, LocalRunner("none", slots), provider="acme")
    run = asyncio.ensure_future(waiting.run())
    await asyncio.sleep(1)
    Pace(tmp_path).slow_down("acme", START_MS + 60_000, START_MS + 1000)
    taken.release()
    await asyncio.sleep(5)
    assert slots.free == 1
    waiting.stop()
    assert (await run).reason is Reason.CANCELLED
