"""From tasks to runs that keepers hold: at once where there is a slot, else the queue has them wait in order."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from pi_subagents.background.orders import Order, seal
from pi_subagents.background.starting import start_keeper, start_queue
from pi_subagents.delegation.missing import PlanCheck
from pi_subagents.delegation.preparation import PreparedRun, prepare_runs
from pi_subagents.errors import PiSubagentsError, StoreError
from pi_subagents.harness import harness_named, steerable
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.runners import choose_mechanism, room_for_agents
from pi_subagents.runs.run import Run
from pi_subagents.runs.sessions import Remembered, nothing_remembered
from pi_subagents.settings import Settings
from pi_subagents.store import BackgroundSlots, Index
from pi_subagents.supervisor import answering_for

_log = logging.getLogger(__name__)

_HANDOVER_S = 2.0
_MAX_PENDING = 1024
"""How many runs may come before a queue that is still starting takes the first."""


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
        harness=steerable(harness_named(settings.harness_name)),
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
    with answering_for([run]):
        try:
            Index(place.agent_dir).record(place.project, {run_dir: run.state})
            _give_away(run, order_for(run, place, settings), BackgroundSlots(place.agent_dir, settings.max_background))
        except (OSError, ValueError, OverflowError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise StoreError(f"cannot hand the run in {run_dir} to a keeper: {why}") from error
    return Run(run_dir, run.state)


def _give_away(run: PreparedRun, order: Order, slots: BackgroundSlots) -> None:
    sealed = seal(order)
    try:
        _hand_over(run, sealed, slots)
    finally:
        os.close(sealed)
    run.record.leave()


def _hand_over(run: PreparedRun, order: int, slots: BackgroundSlots) -> None:
    lease = run.record.lease_fd
    lock = slots.launch_lock()
    if lock is None:
        _log.warning("another launch is stuck (is its program stopped?); going ahead without it")
    try:
        if _give_to_queue(run, order, slots):
            return
        slot = slots.take()
        if slot is not None:
            try:
                start_keeper(lease, order, slot.fileno())
            finally:
                slot.leave()
            return
        with suppress(OSError):
            _open_queue(slots)
        if not _give_to_queue(run, order, slots):
            start_keeper(lease, order, -1)  # better one too many than one that nobody keeps
    finally:
        if lock is not None:
            lock.release()


def _give_to_queue(run: PreparedRun, order: int, slots: BackgroundSlots) -> bool:
    """Have a run wait in the queue, if there is one.

    Sent is handed over: the descriptors are on their way in the kernel, and should the queue die before it takes
    them, the kernel frees the lease and the run counts as lost. Waiting for an answer could only lead to two keepers.
    """
    if (address := slots.queue_address) is None:
        return False
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_HANDOVER_S)
            connection.connect(str(address))
            socket.send_fds(connection, [os.fsencode(run.record.path)], [run.record.lease_fd, order])
    except ConnectionRefusedError:  # it was killed
        slots.remove_queue_address(address)
        return False
    except OSError:
        return False
    return True


def _open_queue(slots: BackgroundSlots) -> None:
    """Listen before there is a queue, so that nobody has to wait until it has started."""
    path = slots.new_queue_address()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(_MAX_PENDING)
        start_queue(listener.fileno(), str(slots.agent_dir), slots.limit)


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
    )
