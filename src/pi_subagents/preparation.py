"""From tasks to runs that are ready to be started: sessions to resume are claimed, plans made, records published."""

from __future__ import annotations

from collections.abc import Sequence

from pi_subagents.harness import Harness
from pi_subagents.harness.pi_launch import PROMPT_FILE
from pi_subagents.models import Task
from pi_subagents.models_offered import OfferedModels
from pi_subagents.planning import Continuation, Place, plan_tasks
from pi_subagents.profiles import BUILTIN_TOOLS
from pi_subagents.sessions import Session, Sessions, claim_all
from pi_subagents.settings import Settings
from pi_subagents.store import read_file
from pi_subagents.transcripts import Told, retelling
from pi_subagents.workshop import PreparedRun, Workshop


def prepare_runs(
    tasks: Sequence[Task],
    place: Place,
    settings: Settings,
    *,
    harness: Harness,
    default_profile: str | None = None,
    available_tools: Sequence[str] = BUILTIN_TOOLS,
    owner: str | None = None,
) -> list[PreparedRun]:
    """A run for every task, in order, or none; nothing is started. Raises PiSubagentsError.

    Runs with an `owner` are background runs of that session, client or terminal.
    """
    claims = claim_all(Sessions(place), [task.resume for task in tasks if task.resume])
    try:
        homes = {claim.session.id: claim.session.latest.run_dir.parent for claim in claims}
        workshop = Workshop(place, settings, harness, homes)
        plans = plan_tasks(
            tasks,
            place,
            default_profile=default_profile,
            available_tools=available_tools,
            continuations={claim.session.id: _continuation(claim.session, settings, harness) for claim in claims},
            resume_mode=settings.resume_mode,
            check_model=OfferedModels(place, settings).check,
        )
        return workshop.prepare_all(plans, owner=owner)
    finally:
        for claim in claims:
            claim.lease.release()


def _continuation(session: Session, settings: Settings, harness: Harness) -> Continuation:
    runs = [Told(run.state, read_file(run.run_dir / PROMPT_FILE).decode("utf-8", "replace")) for run in session.runs]
    told = retelling(runs, settings.max_resume_characters, session.run_count)
    conversation = read_file(session.latest.run_dir / harness.conversation_file)
    return Continuation(session.id, told, conversation)
