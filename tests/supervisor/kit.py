"""One run from start to end, with an agent that is a coroutine and a clock that does not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pi_subagents.fold import RunState, fold
from pi_subagents.harness import Harness, Invocation
from pi_subagents.harness.pi.pi import PiJson
from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.runners import Runner
from pi_subagents.store import JOURNAL_FILE, Pace, publish, read_journal
from pi_subagents.supervisor import Limits, Observer, Pacing, Supervisor
from pi_subagents.testing import FakeProcess, FakeRunner, run_on_virtual_clock
from pi_subagents.testing.fakes import Play
from pi_subagents.testing.records import Record

FOREVER_S = 10_000.0
START_MS = 1_000_000

CANCELLED = ("aborted", "cancelled", "Cancelled")
COMPLETED = ("completed", "settled", None)

Meanwhile = Callable[[Supervisor], Awaitable[None]]


@dataclass(frozen=True)
class Outcome:
    """What came of a run, what stands in its journal, and how long it took."""

    state: RunState
    journal: list[ev.AnyEvent]
    process: FakeProcess | None
    elapsed_s: float
    run_dir: Path

    @property
    def verdict(self) -> tuple[str, str | None, str | None]:
        """Status, reason and sentence."""
        return self.state.status.value, self.state.reason and self.state.reason.value, self.state.error

    @property
    def signals(self) -> list[tuple[str, float]]:
        """What the process was asked, and when."""
        assert self.process is not None
        return self.process.signals


def supervised(
    folder: Path,
    runner: Runner,
    limits: Limits | None = None,
    *,
    secrets: Sequence[str] = (),
    problem: str | None = None,
    observer: Observer | None = None,
    provider: str | None = None,
    run: str = "run",
    harness: Harness | None = None,
) -> Supervisor:
    """A supervisor of a run whose record lies in `folder`; `provider` is whom it asks. Its clock is the loop's."""
    created = ev.Created(run_id="r1", session_id="s1", name="task", prompt="do it", cwd="/", harness="pi-json")
    record = publish(folder / run, {}, created)
    invocation = Invocation(("pi",), {}, folder, b"do it", secrets=frozenset(secrets))
    return Supervisor(
        record,
        fold(RunState(), [created]),
        invocation,
        harness or PiJson(),
        runner,
        limits or Limits(),
        Pacing(Pace(folder), provider),
        problem=problem,
        observer=observer,
        now_ms=lambda: START_MS + int(asyncio.get_running_loop().time() * 1000),
    )


def see_through(
    folder: Path,
    play: Play,
    limits: Limits | None = None,
    *,
    ignores: tuple[str, ...] = (),
    fails_with: Exception | None = None,
    secrets: Sequence[str] = (),
    problem: str | None = None,
    observer: Observer | None = None,
    meanwhile: Meanwhile | None = None,
) -> Outcome:
    """Run an agent to its end on a virtual clock; `meanwhile` is what others do during the run."""

    async def main() -> Outcome:
        runner = FakeRunner(play, ignores=ignores, fails_with=fails_with)
        supervisor = supervised(folder, runner, limits, secrets=secrets, problem=problem, observer=observer)
        others = asyncio.ensure_future(meanwhile(supervisor)) if meanwhile else None
        state = await supervisor.run()
        elapsed_s = asyncio.get_running_loop().time()
        if others is not None:
            await others
        process = runner.processes[0] if runner.processes else None
        return Outcome(state, list(read_journal(folder / "run" / JOURNAL_FILE)), process, elapsed_s, folder / "run")

    return run_on_virtual_clock(main())


Step = Record | list[Record] | bytes | float
"""A record in a chunk of its own, several in one, bytes as they are, or seconds to wait."""


def printing(*steps: Step, exit_code: int = 0) -> Play:
    """An agent that does one thing after the other and exits."""

    async def play(process: FakeProcess) -> int:
        for step in steps:
            if isinstance(step, bytes):
                process.writes(step)
            elif not isinstance(step, int | float):
                process.prints(*(step if isinstance(step, list) else [step]))
            await asyncio.sleep(step if isinstance(step, int | float) else 0)
        return exit_code

    return play


def staying(*steps: Step) -> Play:
    """The same, but it never exits by itself."""
    return printing(*steps, FOREVER_S)


def stopping(after_s: float, *requests: tuple[Reason, str]) -> Meanwhile:
    """Somebody who asks for the run to be stopped."""

    async def meanwhile(supervisor: Supervisor) -> None:
        await asyncio.sleep(after_s)
        for reason, message in requests or [(Reason.CANCELLED, "Cancelled")]:
            supervisor.stop(reason, message)

    return meanwhile
