"""The composition root: puts planning, store, harness, runner and supervisor together for one call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from pi_subagents.clock import now_ms
from pi_subagents.fold import RunState, fold
from pi_subagents.harness import Harness, Invocation, Launch, PiJson
from pi_subagents.models import MAX_CONCURRENCY, Reason, Status, Task, new_run_id, new_session_id
from pi_subagents.models.event import Created, Event
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.paths import data_dir, project_of, runs_dir
from pi_subagents.planning import Continuation, Place, Plan, as_utf8, plan_tasks
from pi_subagents.profiles import BUILTIN_TOOLS
from pi_subagents.programs import Program, child_path, find_pi
from pi_subagents.redaction import Redactor
from pi_subagents.results import RunResult, run_result
from pi_subagents.retention import apply_retention
from pi_subagents.runners import LocalRunner, Runner, choose_mechanism
from pi_subagents.scheduler import run_bounded
from pi_subagents.sessions import Claim, Session, Sessions, claim_for_resume
from pi_subagents.settings import Settings, load_settings
from pi_subagents.store import Index, publish, read_file
from pi_subagents.supervisor import REQUEST_INTERVAL_S, Limits, Observer, Supervisor
from pi_subagents.transcripts import retelling


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """Something happened in a run: what, and the run's state after it."""

    state: RunState
    event: Event


@dataclass(frozen=True)
class DelegatedRun:
    """One task of a delegation with the run that works on it."""

    plan: Plan
    run_dir: Path
    supervisor: Supervisor

    @property
    def state(self) -> RunState:
        return self.supervisor.state


class Delegation:
    """Tasks handed to sub-agents.

    Await it for the results, or iterate over it for everything that happens meanwhile; used with `async with`,
    leaving the block stops what is still running. `prepare` raises what is the caller's mistake, before anything
    has started.
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
        runner: Runner | None = None,
    ) -> None:
        self.place = place or Place.here()
        self.settings = load_settings(self.place.cwd, self.place.agent_dir)
        self.runs: list[DelegatedRun] = []
        self._sessions = Sessions(self.place)
        self._index = Index(self.place.agent_dir)
        self._tasks = list(tasks)
        self._profile = profile
        self._concurrency = concurrency
        self._observer = observer
        self._available_tools = available_tools
        self._harness = harness or PiJson()
        self._runner = runner
        self._work: asyncio.Task[list[RunResult]] | None = None
        self._updates: asyncio.Queue[RunUpdate | None] | None = None
        self._stopped = False

    # --- for callers ----------------------------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, list[RunResult]]:
        return self._results().__await__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()
        if self._work is not None:
            await asyncio.wait([self._work])

    async def __aiter__(self) -> AsyncIterator[RunUpdate]:
        updates: asyncio.Queue[RunUpdate | None] = asyncio.Queue()
        self._updates = updates
        self._begin().add_done_callback(lambda _work: updates.put_nowait(None))
        while (update := await updates.get()) is not None:
            yield update
        await self._results()

    @property
    def concurrency(self) -> int:
        """How many agents may work at once."""
        return self._concurrency

    @property
    def task_count(self) -> int:
        return len(self._tasks)

    @property
    def results(self) -> list[RunResult]:
        """How every task stands, in the order of the tasks."""
        return [run_result(run.state, run.run_dir) for run in self.runs]

    def stop(self, session_id: str | None = None, message: str = CANCELLED_SENTENCE) -> None:
        """Ask one run, or all of them, to end; returns at once."""
        self._stopped = self._stopped or session_id is None
        for run in self.runs:
            if session_id in (None, run.state.session_id):
                run.supervisor.stop(Reason.CANCELLED, message)

    def prepare(self) -> None:
        """Plan every task and make its record; nothing is started. Raises PiSubagentsError."""
        if self.runs:
            return
        claims = self._claim_resumed()
        try:
            plans = plan_tasks(
                self._tasks,
                self.place,
                default_profile=self._profile,
                available_tools=self._available_tools,
                continuations={claim.session.id: self._continuation(claim.session) for claim in claims},
                resume_mode=self.settings.resume_mode,
            )
            homes = {claim.session.id: claim.session.latest.run_dir.parent for claim in claims}
            workshop = _Workshop(self.place, self.settings, self._harness, self._runner, homes)
            self.runs = [workshop.make(plan, self._observe) for plan in plans]
        finally:
            for claim in claims:
                claim.lease.release()
        for project in {project_of(run.run_dir) for run in self.runs}:
            runs = [(run.state, run.run_dir) for run in self.runs if project_of(run.run_dir) == project]
            self._index.record(project, runs)

    def _claim_resumed(self) -> list[Claim]:
        claims: list[Claim] = []
        try:
            for task in self._tasks:
                if task.resume:
                    claims.append(claim_for_resume(self._sessions, task.resume))
        except BaseException:
            for claim in claims:
                claim.lease.release()
            raise
        return claims

    def _continuation(self, session: Session) -> Continuation:
        told = retelling([run.state for run in session.runs], self.settings.max_resume_characters)
        conversation = read_file(session.latest.run_dir / self._harness.conversation_file)
        return Continuation(session.id, told, conversation)

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
            if not work.cancelled():
                await asyncio.wait([work])
            raise

    async def _run_all(self) -> list[RunResult]:
        await asyncio.to_thread(self.prepare)
        if self._stopped:  # asked for while the records were being made
            self.stop()
        watching = asyncio.create_task(self._watch_requests())
        try:
            await run_bounded([partial(self._run_one, run) for run in self.runs], self._concurrency)
        finally:
            watching.cancel()
        # Nobody waits for it but the end of the program.
        tidying = partial(apply_retention, self.place.project, self.place.agent_dir, self.settings)
        asyncio.get_running_loop().run_in_executor(None, tidying)
        return self.results

    async def _watch_requests(self) -> None:
        """Another process may ask for a run to be stopped that still waits for its turn."""
        while any(run.state.status is Status.QUEUED for run in self.runs):
            await asyncio.sleep(REQUEST_INTERVAL_S)
            for run in self.runs:
                if run.state.status is Status.QUEUED:
                    run.supervisor.heed_request()

    async def _run_one(self, run: DelegatedRun) -> None:
        await run.supervisor.run()
        await asyncio.to_thread(self._index.record, project_of(run.run_dir), [(run.state, run.run_dir)])

    def _observe(self, state: RunState, events: Sequence[Event]) -> None:
        if self._observer is not None:
            self._observer(state, events)
        if self._updates is not None:
            for event in events:
                self._updates.put_nowait(RunUpdate(state, event))


def delegate(
    tasks: Sequence[Task],
    *,
    profile: str | None = None,
    cwd: Path | str | None = None,
    concurrency: int = MAX_CONCURRENCY,
) -> Delegation:
    """Hand tasks to sub-agents: `await` it for the results, or `async for` over it for what happens meanwhile."""
    place = Place.here(Path(cwd) if cwd is not None else None)
    return Delegation(tasks, profile=profile, place=place, concurrency=concurrency)


class _Workshop:
    """Makes supervised runs from plans."""

    def __init__(
        self,
        place: Place,
        settings: Settings,
        harness: Harness,
        runner: Runner | None,
        homes: Mapping[str, Path],
    ) -> None:
        self._homes = homes
        self._place = place
        self._settings = settings
        self._harness = harness
        self._runner = runner or LocalRunner(choose_mechanism(settings.containment))
        data = data_dir(place.environ)
        self._program: Program = find_pi(settings.pi_command, place.environ, data)
        self._environ = {**place.environ, "PATH": child_path(place.environ, data)}
        self._runs_dir = runs_dir(place.project)

    def make(self, plan: Plan, observer: Observer) -> DelegatedRun:
        """Publish the record of a run and hand it to a supervisor; raises StoreError."""
        session_id = plan.continuation.session_id if plan.continuation else new_session_id()
        run_id = new_run_id(session_id)
        # A session's runs stay together, wherever it is resumed from.
        run_dir = self._homes.get(session_id, self._runs_dir) / run_id
        invocation = self._invocation(plan, run_dir)
        created = self._created(plan, run_id, session_id, Redactor(invocation.secrets))
        files = () if plan.problem else invocation.files
        record = publish(run_dir, _meta(plan, created, invocation, self._program), created, files)
        supervisor = Supervisor(
            record,
            fold(RunState(), [created]),
            invocation,
            self._harness,
            self._runner,
            self._limits(plan),
            problem=plan.problem,
            observer=observer,
        )
        return DelegatedRun(plan, run_dir, supervisor)

    def _invocation(self, plan: Plan, run_dir: Path) -> Invocation:
        entries: tuple[str, ...] = ()
        if plan.profile is not None and plan.profile.api_key is not None and self._place.agent_dir.is_dir():
            entries = tuple(sorted(path.name for path in self._place.agent_dir.iterdir()))
        return self._harness.invocation(
            Launch(
                program=self._program.argv,
                prompt=plan.prompt,
                cwd=plan.cwd,
                run_dir=run_dir,
                agent_dir=self._place.agent_dir,
                environ=self._environ,
                profile=plan.profile,
                agent_dir_entries=entries,
                conversation=plan.continuation.conversation
                if plan.continuation and plan.resume_mode == "native"
                else b"",
            )
        )

    def _created(self, plan: Plan, run_id: str, session_id: str, redactor: Redactor) -> Created:
        profile = plan.profile
        return Created(
            at=now_ms(),
            run_id=run_id,
            session_id=session_id,
            name=redactor.text(plan.task.name),
            prompt=redactor.text(plan.task.prompt),
            cwd=as_utf8(str(plan.cwd)),
            harness=self._harness.name,
            profile=plan.profile_name,
            provider=profile.provider if profile else None,
            model=profile.model if profile else None,
            thinking_level=profile.thinking_level if profile else None,
            timeout_s=plan.task.timeout,
            file_count=len(plan.task.files),
            resume_mode=plan.resume_mode,
            note=plan.note,
        )

    def _limits(self, plan: Plan) -> Limits:
        return Limits(
            timeout_s=plan.task.timeout,
            extension_s=self._settings.extend_timeout_debounce_s,
            loop_count=self._settings.looping_tool_count,
        )


def _meta(plan: Plan, created: Created, invocation: Invocation, program: Program) -> dict[str, Any]:
    profile = plan.profile
    return {
        "runId": created.run_id,
        "sessionId": created.session_id,
        "name": created.name,
        "cwd": created.cwd,
        "createdAt": created.at,
        "harness": created.harness,
        "program": {"argv": program.argv, "foundIn": program.found_in},
        "argv": invocation.argv,
        "profile": plan.profile_name,
        "profilePath": str(profile.path) if profile and profile.path else None,
        "provider": created.provider,
        "model": created.model,
        "thinkingLevel": created.thinking_level,
        "tools": profile.tools if profile else None,
        "timeout": created.timeout_s,
        "files": [file if isinstance(file, str) else file.path for file in plan.task.files],
    }
