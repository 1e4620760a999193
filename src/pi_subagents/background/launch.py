"""From tasks to runs that keepers hold: at once where there is a place, else the porter has them wait in order."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from pi_subagents.background.orders import Order, seal
from pi_subagents.delegation.missing import PlanCheck
from pi_subagents.delegation.preparation import PreparedRun, prepare_runs
from pi_subagents.errors import PiSubagentsError, StoreError
from pi_subagents.harness import PiRpc
from pi_subagents.harness.pi.tools import BUILTIN_TOOLS
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.runners import choose_mechanism, room_for_agents, start_keeper, start_porter
from pi_subagents.runs.background import KnownRun
from pi_subagents.runs.sessions import Remembered, nothing_remembered
from pi_subagents.settings import Settings
from pi_subagents.store import Index, Slots, request_stop
from pi_subagents.supervisor import answering_for

_log = logging.getLogger(__name__)

_HANDOVER_S = 2.0
_MAX_KNOCKING = 1024
"""How many may come before a porter who is still on the way takes the first."""


def launch_all(
    tasks: Sequence[Task],
    place: Place,
    *,
    owner: str,
    default_profile: str | None = None,
    available_tools: Sequence[str] = BUILTIN_TOOLS,
    remembered: Remembered = nothing_remembered,
    check: PlanCheck | None = None,
) -> list[KnownRun]:
    """Start a background run for every task, in order, or none, and return at once; raises PiSubagentsError.

    A task that cannot be started (an unknown profile, a missing directory) is a run that failed, unless `check` raises
    it: then nothing is started.
    """
    settings = place.settings()
    prepared = prepare_runs(
        tasks,
        place,
        settings,
        harness=PiRpc(),
        default_profile=default_profile,
        available_tools=available_tools,
        owner=owner,
        remembered=remembered,
        check=check,
    )
    launched: list[KnownRun] = []
    with answering_for(prepared), _calling_off(launched):
        for run in prepared:
            launched.append(launch(run, place, settings))
    return launched


@contextmanager
def _calling_off(launched: Sequence[KnownRun]) -> Iterator[None]:
    """Leave no run behind at work whose id nobody was told."""
    try:
        yield
    except BaseException as error:
        for run in launched:
            with suppress(PiSubagentsError):
                request_stop(run.run_dir, str(error))
        raise


def launch(run: PreparedRun, place: Place, settings: Settings) -> KnownRun:
    """Give a prepared run to a keeper and return at once; raises StoreError or SettingsError."""
    run_dir = run.record.path
    with answering_for([run]):
        try:
            Index(place.agent_dir).record(place.project, [(run.state, run_dir)])
            _give_away(run, order_for(run, place, settings), Slots(place.agent_dir, settings.max_background))
        except (OSError, ValueError, OverflowError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise StoreError(f"cannot hand the run in {run_dir} to a keeper: {why}") from error
    return KnownRun(run.state, run_dir)


def _give_away(run: PreparedRun, order: Order, slots: Slots) -> None:
    sealed = seal(order)
    try:
        _hand_over(run, sealed, slots)
    finally:
        os.close(sealed)
    run.record.leave()


def _hand_over(run: PreparedRun, order: int, slots: Slots) -> None:
    lease = run.record.lease_fd
    gate = slots.gate()
    if gate is None:
        _log.warning("another launch is stuck (is its program stopped?); going ahead without it")
    try:
        if _give_to_porter(run, order, slots):
            return
        slot = slots.take()
        if slot is not None:
            try:
                start_keeper(lease, order, slot.fileno())
            finally:
                slot.leave()
            return
        with suppress(OSError):
            _open_door(slots)
        if not _give_to_porter(run, order, slots):
            start_keeper(lease, order, -1)  # better one too many than one that nobody keeps
    finally:
        if gate is not None:
            gate.release()


def _give_to_porter(run: PreparedRun, order: int, slots: Slots) -> bool:
    """Put a run into the porter's hands, if there is one.

    Sent is handed over: the descriptors are on their way in the kernel, and should the porter die before it takes
    them, the kernel frees the lease and the run counts as lost. Waiting for an answer could only lead to two keepers.
    """
    if (door := slots.door) is None:
        return False
    try:
        with socket.socket(socket.AF_UNIX) as knock:
            knock.settimeout(_HANDOVER_S)
            knock.connect(str(door))
            socket.send_fds(knock, [os.fsencode(run.record.path)], [run.record.lease_fd, order])
    except ConnectionRefusedError:  # it was killed
        slots.close_door(door)
        return False
    except OSError:
        return False
    return True


def _open_door(slots: Slots) -> None:
    """Open the porter's door before there is a porter, so that nobody has to wait for it to come."""
    path = slots.move_door()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        path.chmod(0o600)
        door.listen(_MAX_KNOCKING)
        start_porter(door.fileno(), str(slots.agent_dir), slots.limit)


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
