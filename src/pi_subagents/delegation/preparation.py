"""From tasks to runs that are ready to be started: sessions to resume are claimed, plans made, records published."""

from __future__ import annotations

from collections.abc import Sequence

from pi_subagents.delegation.missing import PlanCheck
from pi_subagents.delegation.offered_models import OfferedModels
from pi_subagents.delegation.planning import Continuation, plan_tasks
from pi_subagents.delegation.retelling import Told, retelling
from pi_subagents.delegation.workshop import PreparedRun, Workshop
from pi_subagents.fold import RunState
from pi_subagents.harness import Harness
from pi_subagents.harness.pi.launch import PROMPT_FILE
from pi_subagents.harness.pi.tools import BUILTIN_TOOLS
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.runs.sessions import (
    Remembered,
    Session,
    Sessions,
    claim_all,
    gone_before,
    nothing_remembered,
    session_busy,
)
from pi_subagents.settings import Settings
from pi_subagents.store import read_file


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
    sessions = Sessions(place)
    resumed = [task.resume for task in tasks if task.resume]
    from_memory = [one for one in resumed if not sessions.has(one) and remembered(one)]
    if twice := [one for one in from_memory if from_memory.count(one) > 1]:
        raise session_busy(twice[0])
    claims = claim_all(sessions, [one for one in resumed if one not in from_memory])
    continuations = {one: Continuation(one, _retold(remembered(one), settings)) for one in from_memory}
    try:
        homes = {claim.session.id: claim.session.latest.run_dir.parent for claim in claims}
        workshop = Workshop(place, settings, harness, homes)
        plans = plan_tasks(
            tasks,
            place,
            default_profile=default_profile,
            available_tools=available_tools,
            continuations=continuations
            | {claim.session.id: _continuation(claim.session, settings, harness, remembered) for claim in claims},
            resume_mode=settings.resume_mode,
            models=OfferedModels(place, settings),
        )
        if check is not None:
            check(plans, place)
        return workshop.prepare_all(plans, owner=owner)
    finally:
        for claim in claims:
            claim.lease.release()


def _retold(runs: Sequence[RunState], settings: Settings) -> str:
    return retelling(list(map(Told, runs)), settings.max_resume_characters)


def _continuation(session: Session, settings: Settings, harness: Harness, remembered: Remembered) -> Continuation:
    gone = gone_before(session, remembered)
    kept = [Told(run.state, read_file(run.run_dir / PROMPT_FILE).decode("utf-8", "replace")) for run in session.runs]
    told = retelling([*map(Told, gone), *kept], settings.max_resume_characters, len(gone) + session.run_count)
    conversation = read_file(session.latest.run_dir / harness.conversation_file)
    return Continuation(session.id, told, conversation)
