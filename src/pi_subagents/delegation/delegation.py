"""One call: its tasks are planned and prepared, wait for their turn, and are seen through, so many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

import msgspec

from pi_subagents import store
from pi_subagents.delegation.holders import holders_named
from pi_subagents.delegation.planning import Plan
from pi_subagents.delegation.preparation import (
    PlanCheck,
    PreparedRun,
    answering_for,
    in_thread,
    outlast,
    prepare_runs,
)
from pi_subagents.delegation.program_facts import doubt_namespace
from pi_subagents.fold import RunState
from pi_subagents.harness import Harness, harness_named
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.models import MAX_CONCURRENCY, Reason, Status, Task
from pi_subagents.models.event import Event
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.paths import project_of
from pi_subagents.place import Place
from pi_subagents.runners import Runner
from pi_subagents.runs.live import serving
from pi_subagents.runs.remembered import Remembered, nothing_remembered
from pi_subagents.runs.run import Run, RunResult
from pi_subagents.settings import RunnerName
from pi_subagents.supervisor import REQUEST_INTERVAL_S, Holder, Observer

_NOTE_AFTER_S = 0.5
"""A run that waits for its turn for so long is noted meanwhile."""


class RunUpdate(msgspec.Struct, frozen=True):
    """Something happened in a run: what, and the run's state after it."""

    state: RunState
    event: Event


class DelegatedRun(msgspec.Struct, frozen=True):
    """One task of a delegation with the run that works on it."""

    plan: Plan
    run_dir: Path
    holder: Holder

    @property
    def state(self) -> RunState:
        return self.holder.state

    @property
    def run(self) -> Run:
        return Run(self.run_dir, self.state)

    @property
    def goes_on(self) -> bool:
        """Whether it has not ended, and nobody has asked it to."""
        return not self.state.status.is_terminal and self.state.stop is None


class Delegation:
    """Tasks handed to sub-agents.

    Await it for the results, or iterate over it for everything that happens meanwhile; used with `async with`,
    leaving the block stops what is still running. `prepare` raises what is the caller's mistake, before anything
    has started; `check` decides whether that is also what is wrong with a single task. The `observer` is told of
    everything that happens in a run after it is recorded, the end of the run included.

    Programs get one from `delegate`; what else its constructor takes is for the surfaces of this package.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        profile: str | None = None,
        place: Place | None = None,
        concurrency: int = MAX_CONCURRENCY,
        observer: Observer | None = None,
        available_tools: Sequence[str] = BUILTIN_TOOLS,
        harness: Harness | None = None,
        runner: RunnerName | None = None,
        agents: Runner | None = None,
        remembered: Remembered = nothing_remembered,
        check: PlanCheck | None = None,
    ) -> None:
        self.place = place or Place.here()
        self.settings = self.place.settings()
        self.runs: list[DelegatedRun] = []
        self._prepared: list[PreparedRun] = []
        self.task_count = len(tasks)
        self.concurrency = concurrency
        self._observers = [observer] if observer is not None else []
        self._prepare_runs = partial(
            prepare_runs,
            list(tasks),
            self.place,
            self.settings,
            harness=harness or harness_named(self.settings.harness_name),
            default_profile=profile,
            available_tools=available_tools,
            remembered=remembered,
            check=check,
        )
        name = runner or ("local" if agents is not None else self.settings.runner)
        self._holders = holders_named(name)(self.place, self.settings, self._observe, agents)
        self._work: asyncio.Task[list[RunResult]] | None = None
        self._stop_message: str | None = None
        self._has_begun = asyncio.Event()

    # --- for callers ----------------------------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, list[RunResult]]:
        return self._results().__await__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()
        if self._work is not None and await outlast(self._work):
            raise asyncio.CancelledError

    async def __aiter__(self) -> AsyncIterator[RunUpdate]:
        updates: asyncio.Queue[RunUpdate | None] = asyncio.Queue()

        def put(state: RunState, events: Sequence[Event]) -> None:
            for event in events:
                updates.put_nowait(RunUpdate(state, event))

        self._observers.append(put)
        self._begin().add_done_callback(lambda _work: updates.put_nowait(None))
        while (update := await updates.get()) is not None:
            yield update
        await self._results()

    @property
    def results(self) -> list[RunResult]:
        """How every task stands, in the order of the tasks."""
        return [delegated.run.result for delegated in self.runs]

    @property
    def warnings(self) -> list[str]:
        """What the caller should know of the settings, and of each task's profile, model and agent as far as it got."""
        notes = (run.state.note for run in self.runs if run.state.note)
        return [*self.settings.warnings, *dict.fromkeys(notes)]

    @property
    def hint(self) -> str | None:
        """How to look at the runs, where they are shown elsewhere."""
        return self._holders.hint

    def check_runner(self) -> None:
        """Raise InvalidCall where the runner cannot work on this machine."""
        self._holders.check()

    def stop(self, session_id: str | None = None, message: str = CANCELLED_SENTENCE) -> None:
        """Ask one run, or all of them, to end; returns at once."""
        if session_id is None and self._stop_message is None:
            self._stop_message = message
        for run in self.runs:
            if session_id in (None, run.state.session_id):
                run.holder.stop(Reason.CANCELLED, message)

    async def steer(self, session_id: str, text: str) -> str | None:
        """Tell a running agent something before its next turn; returns why not, if it cannot be told."""
        run = next((run for run in self.runs if run.state.session_id == session_id), None)
        return run.holder.steer(text) if run else f"there is no session {session_id} here"

    def detach(self, owner: str) -> list[Run]:
        """Make background runs of those that have not ended; whoever runs this delegation is their keeper."""
        left = [run for run in self.runs if run.goes_on]
        for run in left:
            run.holder.detach(owner)
        self._take_note(left)
        return [delegated.run for delegated in left]

    def prepare(self) -> None:
        """Plan every task and make its record; nothing is started. Raises PiSubagentsError."""
        if self.runs:
            return
        self.check_runner()
        prepared = self._prepare_runs()
        with answering_for(prepared):
            self.runs = [DelegatedRun(run.plan, run.record.path, self._holders.hold(run)) for run in prepared]
        self._prepared += prepared

    def _take_note(self, runs: Sequence[DelegatedRun]) -> None:
        projects: dict[Path, dict[Path, RunState]] = {}
        for run in runs:
            projects.setdefault(project_of(run.run_dir), {})[run.run_dir] = run.state
        for project, states in projects.items():
            store.Index(self.place.agent_dir).record(project, states)

    # --- inside ---------------------------------------------------------------------------------------------

    def _begin(self) -> asyncio.Task[list[RunResult]]:
        if self._work is None:
            self._work = asyncio.get_running_loop().create_task(self._run_all())
        return self._work

    async def _results(self) -> list[RunResult]:
        work = self._begin()
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            # Stopping is asked for here and done by the supervisors; wait until nothing is left of any agent.
            self.stop()
            await outlast(work)
            raise

    async def _run_all(self) -> list[RunResult]:
        with answering_for(self._prepared):
            await in_thread(self.prepare)
            await self._see_through()
        if any(run.state.status is Status.FAILED for run in self.runs):
            doubt_namespace(self.place.agent_dir)
        from pi_subagents.runs.retention import apply_retention_aside  # by now there is time

        apply_retention_aside(self.place.project, self.place.agent_dir, self.settings)
        return self.results

    async def _see_through(self) -> None:
        if self._stop_message is not None:  # asked for while the records were being made
            self.stop(message=self._stop_message)
        watching = asyncio.create_task(self._watch_requests())
        noting = asyncio.create_task(self._note_beginnings())
        try:
            async with serving({run.run_dir: run.holder for run in self.runs if run.holder.can_steer}):
                await self._run_in_turn(noting)
        finally:
            watching.cancel()
            self._has_begun.set()
            try:
                await noting
            finally:
                await self._holders.close()

    async def _watch_requests(self) -> None:
        """Another process may ask for a run to be stopped that still waits for its turn."""
        while any(run.state.status is Status.QUEUED for run in self.runs):
            await asyncio.sleep(REQUEST_INTERVAL_S)
            for run in self.runs:
                if run.state.status is Status.QUEUED:
                    run.holder.heed_request()

    async def _note_beginnings(self) -> None:
        """Take note of the runs, once an agent is at work: that is what everybody waits for."""
        if not self.runs:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_NOTE_AFTER_S):
                await self._has_begun.wait()
        await asyncio.to_thread(self._take_note, self.runs)

    async def _run_in_turn(self, noting: asyncio.Task[None]) -> None:
        """First come, first served; what one of them raises is raised when all have been seen through."""
        turns = asyncio.Semaphore(self.concurrency)

        async def run_one(run: DelegatedRun) -> None:
            async with turns:
                await run.holder.run()
            await asyncio.shield(noting)  # its beginning is not noted after its end
            await asyncio.to_thread(self._take_note, [run])

        for outcome in await asyncio.gather(*map(run_one, self.runs), return_exceptions=True):
            if outcome is not None:
                raise outcome

    def _observe(self, state: RunState, events: Sequence[Event]) -> None:
        self._has_begun.set()
        for observer in self._observers:
            observer(state, events)


def delegate(
    tasks: Sequence[Task],
    *,
    profile: str | None = None,
    cwd: Path | str | None = None,
    concurrency: int = MAX_CONCURRENCY,
    trust: bool = False,
) -> Delegation:
    """Hand tasks to sub-agents: `await` it for the results, or `async for` over it for what happens meanwhile.

    `trust` the project for this call: its files may do what otherwise only your own may.
    """
    place = Place.here(Path(cwd) if cwd is not None else None, trusts_project=trust)
    return Delegation(tasks, profile=profile, place=place, concurrency=concurrency)
