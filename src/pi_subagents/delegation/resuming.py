"""Sessions that tasks of a call resume: each is claimed, and told again to the agent that carries on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from pi_subagents.delegation.planning import PROMPT_FILE, Continuation
from pi_subagents.delegation.retelling import Told, retelling
from pi_subagents.fold import RunState
from pi_subagents.harness import AGENTS
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.runs.remembered import Remembered
from pi_subagents.runs.sessions import Session, Sessions, claim_all, gone_before, session_busy
from pi_subagents.settings import Settings
from pi_subagents.store import read_file


def claim_resumed(
    tasks: Sequence[Task], place: Place, settings: Settings, remembered: Remembered, claimed: ExitStack
) -> tuple[Mapping[str, Continuation], Mapping[str, Path]]:
    """What each session has come to, and where its runs are, by session id; they are claimed until `claimed` is closed.

    What is `remembered` of a session is retold where its record is gone. Raises PiSubagentsError.
    """
    sessions = Sessions(place)
    resumed = [task.resume for task in tasks if task.resume]
    from_memory = [one for one in resumed if not sessions.has(one) and remembered(one)]
    if twice := [one for one in from_memory if from_memory.count(one) > 1]:
        raise session_busy(twice[0])
    claims = claim_all(sessions, [one for one in resumed if one not in from_memory])
    for claim in claims:
        claimed.callback(claim.lease.release)
    continuations = {one: Continuation(one, _retold(remembered(one), settings)) for one in from_memory}
    continuations |= {claim.session.id: _continuation(claim.session, settings, remembered) for claim in claims}
    return continuations, {claim.session.id: claim.session.latest.run_dir.parent for claim in claims}


def _retold(runs: Sequence[RunState], settings: Settings) -> str:
    return retelling(list(map(Told, runs)), settings.max_resume_characters)


def _continuation(session: Session, settings: Settings, remembered: Remembered) -> Continuation:
    gone = gone_before(session, remembered)
    kept = [Told(run.state, read_file(run.run_dir / PROMPT_FILE).decode("utf-8", "replace")) for run in session.runs]
    told = retelling([*map(Told, gone), *kept], settings.max_resume_characters, len(gone) + session.run_count)
    latest = session.latest
    other = latest.state.other_agent
    agent = other if other in AGENTS else None
    return Continuation(session.id, told, latest.run_dir, latest.state.conversation, agent)
