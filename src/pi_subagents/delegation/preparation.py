"""From tasks to runs that are ready to be started: sessions to resume are claimed, plans made, records published."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pi_subagents.clock import now_ms
from pi_subagents.delegation.planning import PROMPT_FILE, Continuation, Plan, Planner, Problem
from pi_subagents.delegation.program_facts import program_version, remember_namespace, usable_harness
from pi_subagents.encoding import as_utf8
from pi_subagents.errors import AgentNotFound, InvalidCall, StoreError
from pi_subagents.fold import RunState, fold
from pi_subagents.harness import (
    DEFAULT_AGENT,
    SYSTEM_PROMPT_FILE,
    Harness,
    Invocation,
    Launch,
    Program,
    RunFile,
    Version,
)
from pi_subagents.harness.contract import depth_in, one_deeper
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.models import Reason, Task, new_run_id, new_session_id
from pi_subagents.models.event import Created, Ended
from pi_subagents.outcome import CANCELLED_SENTENCE, ending
from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.redaction import Redactor
from pi_subagents.runners import choose_mechanism
from pi_subagents.runs.remembered import Remembered, nothing_remembered
from pi_subagents.settings import Settings
from pi_subagents.store import TIDY_FILE, RunRecord, force_directory, publish, session_runs, tidying_note
from pi_subagents.supervisor import Limits

if TYPE_CHECKING:
    from pi_subagents.delegation.offered_models import OfferedModels

PlanCheck = Callable[[Sequence[Plan], Place], None]
"""Raises InvalidCall where tasks as planned should not even be tried."""

T = TypeVar("T")


def prepare_runs(
    tasks: Sequence[Task],
    place: Place,
    settings: Settings,
    *,
    harness: Harness,
    default_profile: str | None = None,
    available_tools: Sequence[str] = BUILTIN_TOOLS,
    owner: str | None = None,
    remembered: Remembered = nothing_remembered,
    check: PlanCheck | None = None,
) -> list[PreparedRun]:
    """A run for every task, in order, or none; nothing is started. Raises PiSubagentsError.

    Runs with an `owner` are background runs of that session, client or terminal. What is `remembered` of a session is
    retold where its record is gone. What is wrong with one task is the outcome of its run, unless `check` raises it
    before there is any.
    """
    with ExitStack() as claimed:
        continuations: Mapping[str, Continuation] = {}
        homes: Mapping[str, Path] = {}
        if any(task.resume for task in tasks):
            from pi_subagents.delegation.resuming import claim_resumed  # most tasks begin a session

            continuations, homes = claim_resumed(tasks, place, settings, remembered, claimed)
            if not default_profile:
                tasks = [_carried_on(task, continuations) for task in tasks]
        preparer, models = _Preparer(place, settings, homes, owner), cache(partial(_models, place, settings))
        mode = settings.resume_mode
        note = None
        if any(task.agent in (None, DEFAULT_AGENT) for task in tasks):
            harness, note = usable_harness(harness, place, settings)
        planner = Planner(place, harness, default_profile, available_tools, continuations, mode, models, note)
        plans = list(map(planner.plan, tasks))
        plans = preparer.find_programs(plans)
        if check is not None:
            check(plans, place)
        preparer.require_a_program()
        return preparer.prepare_all(plans)


def _carried_on(task: Task, continuations: Mapping[str, Continuation]) -> Task:
    continuation = continuations.get(task.resume or "")
    return continuation.carried_on(task) if continuation else task


def _models(place: Place, settings: Settings) -> OfferedModels:
    from pi_subagents.delegation.offered_models import OfferedModels  # only for a task that names a model

    return OfferedModels(place, settings)


class PreparedRun(msgspec.Struct, frozen=True):
    """Everything a supervisor needs to see a run through."""

    plan: Plan
    record: RunRecord
    state: RunState
    invocation: Invocation
    harness: Harness
    limits: Limits


@contextmanager
def answering_for(runs: Iterable[PreparedRun]) -> Iterator[None]:
    """Published means ended by somebody: whatever is raised in the block, none of these runs stays open that nobody
    else has taken over by then."""
    try:
        yield
    except BaseException as error:
        for run in runs:
            if run.record.is_held_here:
                _give_up(run, _end_for(error))
        raise


def _end_for(error: BaseException) -> Ended:
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
        return ending(Reason.CANCELLED, CANCELLED_SENTENCE, now_ms())
    reason = Reason.RECORD if isinstance(error, StoreError) else Reason.SPAWN
    return ending(reason, as_utf8(str(error)) or type(error).__name__, now_ms())


def _give_up(run: PreparedRun, ended: Ended) -> None:
    try:
        for name in run.invocation.temporary:
            run.record.remove(name)
        if not run.state.status.is_terminal:
            with suppress(StoreError):  # whoever reads it next finds that nobody holds it, and ends it
                run.record.append([ended])
            fold(run.state, [ended])
    finally:
        run.record.close()


async def in_thread(work: Callable[[], T]) -> T:
    """Do something in a thread; who is cancelled meanwhile waits for its end, so that nothing it made is forgotten."""
    future = asyncio.get_running_loop().run_in_executor(None, work)
    if await outlast(future):
        future.exception()  # it has been seen
        raise asyncio.CancelledError
    return future.result()


async def outlast(future: asyncio.Future[T]) -> bool:
    """Wait until it is done, however often whoever waits is cancelled; whether that happened."""
    cancelled = False
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            cancelled = True
    return cancelled


class _Preparer:
    """Makes runs from plans: their records exist and are held, nothing is started.

    Raises InvalidCall where no further agents may be started, and SettingsError where none could be.
    """

    def __init__(self, place: Place, settings: Settings, homes: Mapping[str, Path], owner: str | None) -> None:
        if (depth := depth_in(place.environ)) >= settings.max_depth:  # here, because every run begins here
            raise InvalidCall(
                f"A sub-agent at depth {depth} cannot start further sub-agents: the setting subagents.maxDepth is "
                f"{settings.max_depth}. Do the work yourself, or ask whoever started you to delegate it."
            )
        self._environ = one_deeper(place.environ, settings.max_depth)
        remember_namespace(settings.containment, place)
        choose_mechanism(settings.containment)  # it is chosen again by whoever starts the agent, but then it is late
        self._homes = homes
        self._owner = owner
        self._place = place
        self._settings = settings
        self._programs: dict[str, tuple[Program, Callable[[], Version | None]]] = {}
        self._missing: list[str] = []
        self._runs_dir = runs_dir(place.project)

    def find_programs(self, plans: Sequence[Plan]) -> list[Plan]:
        """Find the program of every plan, or say in the plan why there is none."""
        missing: dict[str, str] = {}
        for plan in plans:
            key = _program_key(plan)
            if plan.problem or key in self._programs or key in missing:
                continue
            try:
                program = plan.harness.find_program(self._place, self._settings, plan.profile)
            except AgentNotFound as error:
                missing[key] = str(error)
                continue
            question = plan.harness.version_question(program, self._place)
            self._programs[key] = program, cache(partial(program_version, question, self._place))
        self._missing = list(missing.values())
        others = self._installed()
        told = {key: f"{error}{others}" for key, error in missing.items()}
        return [_without_program(plan, told.get(_program_key(plan))) for plan in plans]

    def require_a_program(self) -> None:
        """Raise AgentNotFound if programs were looked for and none was found at all."""
        if self._missing and not self._programs:
            raise AgentNotFound(". ".join(self._missing) + self._installed())

    def _installed(self) -> str:
        """What else there is, for whoever looked in vain."""
        if not self._missing:
            return ""
        from pi_subagents.harness.programs import installed_agents  # only where one is missing

        found = ", ".join(installed_agents(self._place.environ, self._settings.pi_command))
        return f". Installed agents: {found}" if found else ""

    def prepare_all(self, plans: Sequence[Plan]) -> list[PreparedRun]:
        """A record for every plan, or none that is left open; raises StoreError."""
        made: list[PreparedRun] = []
        with answering_for(made):
            for plan in plans:
                made.append(self._prepare(plan))
            for folder in {run.record.path.parent for run in made}:
                force_directory(folder)
        return made

    def _prepare(self, plan: Plan) -> PreparedRun:
        """Publish the record of a run and hold it; that of a background run is forced to the disk at once."""
        session_id = plan.continuation.session_id if plan.continuation else new_session_id()
        # A session's runs stay together, wherever it is resumed from.
        home = self._homes.get(session_id, self._runs_dir)
        earlier = session_runs(home, session_id) if plan.continuation else []
        run_id = new_run_id(session_id, after=max((folder.name for folder in earlier), default=None))
        program, version = self._programs.get(_program_key(plan), _NO_PROGRAM)
        launch = Launch(
            program=program,
            prompt=plan.prompt,
            cwd=plan.cwd,
            run_dir=home / run_id,
            place=self._place,
            environ=self._environ,
            profile=plan.profile,
            conversation=plan.conversation,
            version=version,
        )
        invocation = plan.harness.invocation(launch)
        redactor = Redactor(invocation.secrets)
        created = self._created(plan, run_id, session_id, redactor)
        told = RunFile(PROMPT_FILE, redactor.record(plan.prompt.encode("utf-8", "replace")))
        files = () if plan.problem else (told, *invocation.files, *_tidying(invocation, redactor))
        meta = _meta(plan, created, invocation, program, home / run_id, redactor)
        limits, state = self._limits(plan), fold(RunState(), [created])
        # Once it is published, nothing may go wrong before somebody answers for it.
        record = publish(home / run_id, meta, created, files, forced=self._owner is not None)
        return PreparedRun(plan, record, state, invocation, plan.harness, limits)

    def _created(self, plan: Plan, run_id: str, session_id: str, redactor: Redactor) -> Created:
        profile = plan.profile
        return Created(
            at=now_ms(),
            run_id=run_id,
            session_id=session_id,
            name=redactor.text(plan.task.name),
            prompt=redactor.text(plan.task.prompt),
            cwd=as_utf8(str(plan.cwd)),
            harness=plan.harness.name,
            profile=plan.profile_name,
            provider=profile.provider if profile else None,
            model=profile.model if profile else None,
            thinking_level=_own_level(plan),
            timeout_s=plan.task.timeout,
            file_count=len(plan.task.files),
            resume_mode=plan.resume_mode,
            note=plan.note,
            preset=plan.preset,
            requested_model=plan.requested_model,
            requested_thinking=plan.task.thinking_level,
            resolved_model=profile.model if profile and plan.requested_model and not plan.problem else None,
            background=self._owner is not None,
            owner=self._owner,
        )

    def _limits(self, plan: Plan) -> Limits:
        return Limits(
            timeout_s=plan.task.timeout,
            extension_s=self._settings.extend_timeout_debounce_s,
            loop_count=self._settings.looping_tool_count,
            journal_bytes=self._settings.max_journal_mb * 1_000_000,
        )


_NO_PROGRAM: tuple[Program, Callable[[], Version | None]] = (Program(("",), "nowhere"), lambda: None)


def _program_key(plan: Plan) -> str:
    """A key for the program of a plan: that of its harness, or the one that its profile names."""
    return "\0".join((plan.harness.name, *((plan.profile and plan.profile.program) or ())))


def _without_program(plan: Plan, sentence: str | None) -> Plan:
    if sentence is None:
        return plan
    return msgspec.structs.replace(plan, problems=(*plan.problems, Problem(sentence)))


def _own_level(plan: Plan) -> str | None:
    """The agent's own word for the thinking level."""
    level = plan.profile.thinking_level if plan.profile else None
    return plan.harness.own_level(level) if level else None


def _tidying(invocation: Invocation, redactor: Redactor) -> Iterator[RunFile]:
    """What somebody else needs to tidy up in our place, should we be killed; nothing where there is nothing to tidy."""
    made = {file.name.partition("/")[0] for file in invocation.files}
    temporary = [name for name in invocation.temporary if name in made]
    left = str(invocation.cwd), invocation.placeholders
    if redactor or temporary:
        yield RunFile(TIDY_FILE, tidying_note(temporary, invocation.written_by_agent, redactor.forms, *left))


def _meta(
    plan: Plan, created: Created, invocation: Invocation, program: Program, run_dir: Path, redactor: Redactor
) -> dict[str, Any]:
    profile = plan.profile
    prompt = next((file.content for file in invocation.files if file.name == SYSTEM_PROMPT_FILE), None)
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
        "summary": plan.summary,
        "profilePath": str(profile.path) if profile and profile.path else None,
        "preset": plan.preset,
        "presetSource": profile.scope if profile and plan.preset is not None else None,
        "requestedModel": created.requested_model,
        "resolvedModel": created.resolved_model,
        "provider": created.provider,
        "model": created.model,
        "thinkingLevel": created.thinking_level,
        "tools": profile.tools if profile else None,
        "systemPrompt": redactor.text(prompt.decode()) if prompt is not None else None,
        "systemPromptPath": str(run_dir / SYSTEM_PROMPT_FILE) if prompt is not None else None,
        "timeout": created.timeout_s,
        "files": [file if isinstance(file, str) else file.path for file in plan.task.files],
    }
