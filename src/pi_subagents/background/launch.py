"""From tasks to runs that keepers hold: at once where there is a slot, else the queue has them wait in order."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pi_subagents.background.keeper import Order, sealed
from pi_subagents.background.queue import give_to_queue, open_queue, start_keeper
from pi_subagents.delegation.preparation import PlanCheck, PreparedRun, answering_for, prepare_runs
from pi_subagents.errors import PiSubagentsError, StoreError
from pi_subagents.harness import harness_named
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.runners import choose_mechanism, room_for_agents
from pi_subagents.runs.remembered import Remembered, nothing_remembered
from pi_subagents.runs.run import Run
from pi_subagents.settings import Settings
from pi_subagents.store import BackgroundSlots, Index

_log = logging.getLogger(__name__)


def launch_all(
    tasks: Sequence[Task],
    place: Place,
    *,
    owner: str,
    default_profile: str | None = None,
    available_tools: Sequence[str] = BUILTIN_TOOLS,
    remembered: Remembered = nothing_remembered,
    check: PlanCheck | None = None,
) -> list[Run]:
    """Start a background run for every task, in order, or none, and return at once; raises PiSubagentsError.

    A task that cannot be started (an unknown profile, a missing directory) is a run that failed, unless `check` raises
    it: then nothing is started.
    """
    settings = place.settings()
    prepared = prepare_runs(
        tasks,
        place,
        settings,
        harness=harness_named(settings.harness_name),
        default_profile=default_profile,
        available_tools=available_tools,
        owner=owner,
        remembered=remembered,
        check=check,
    )
    launched: list[Run] = []
    with answering_for(prepared), _calling_off(launched):
        for run in prepared:
            launched.append(launch(run, place, settings))
    return launched


@contextmanager
def _calling_off(launched: Sequence[Run]) -> Iterator[None]:
    """Leave no run behind at work whose id nobody was told."""
    try:
        yield
    except BaseException as error:
        for run in launched:
            with suppress(PiSubagentsError):
                run.stop(str(error))
        raise


def launch(run: PreparedRun, place: Place, settings: Settings) -> Run:
    """Give a prepared run to a keeper and return at once; raises StoreError or SettingsError."""
    run_dir = run.record.path
    try:
        Index(place.agent_dir).record(place.project, {run_dir: run.state})
        with sealed(order_for(run, place, settings)) as order:
            slots = BackgroundSlots(place.agent_dir, settings.max_background)
            _hand_over(run_dir, run.record.lease_fd, order, slots)
    except (OSError, ValueError, OverflowError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise StoreError(f"cannot hand the run in {run_dir} to a keeper: {why}") from error
    run.record.leave()
    return Run(run_dir, run.state)


def _hand_over(run_dir: Path, lease: int, order: int, slots: BackgroundSlots) -> None:
    lock = slots.launch_lock()
    if lock is None:
        _log.warning("another launch is stuck (is its program stopped?); going ahead without it")
    try:
        if give_to_queue(run_dir, lease, order, slots):
            return
        slot = slots.take()
        if slot is not None:
            try:
                start_keeper(lease, order, slot.fileno())
            finally:
                slot.leave()
            return
        with suppress(OSError):
            open_queue(slots)
        if not give_to_queue(run_dir, lease, order, slots):
            start_keeper(lease, order, -1)  # better one too many than one that nobody keeps
    finally:
        if lock is not None:
            lock.release()


def order_for(run: PreparedRun, place: Place, settings: Settings) -> Order:
    """What a keeper of this run must know."""
    invocation = run.invocation
    return Order(
        run_dir=str(run.record.path),
        project=str(place.project),
        agent_dir=str(place.agent_dir),
        harness=run.harness.name,
        mechanism=choose_mechanism(settings.containment),
        argv=invocation.argv,
        environ=dict(invocation.environ),
        cwd=str(invocation.cwd),
        stdin=invocation.stdin,
        interactive=invocation.interactive,
        temporary=invocation.temporary,
        written_by_agent=invocation.written_by_agent,
        secrets=invocation.secrets,
        timeout_s=run.limits.timeout_s,
        extension_s=run.limits.extension_s,
        loop_count=run.limits.loop_count,
        journal_bytes=run.limits.journal_bytes,
        max_processes=settings.max_processes or room_for_agents(),
        problem=run.plan.problem,
        brief=invocation.brief,
        approvals=invocation.approvals,
        placeholders=invocation.placeholders,
        advice=invocation.advice,
    )
