"""What can be done with a run that is under way; the person is told what came of it."""

from __future__ import annotations

import asyncio

from pi_subagents.errors import PiSubagentsError, with_advice
from pi_subagents.runs.roster import WatchedRun
from pi_subagents.surfaces.bridge.dialogs import PiDialogs
from pi_subagents.text import clean


async def stop(run: WatchedRun, dialogs: PiDialogs) -> None:
    """Ask whether to stop the run, and do so."""
    if not run.is_active:
        await dialogs.notify(f"{title_of(run)} has already ended.")
        return
    if await dialogs.confirm(f"Stop {title_of(run)}?", "What it has said and done so far is kept."):
        await asyncio.to_thread(run.run.stop)
        await dialogs.notify(f"{title_of(run)} was asked to stop.")


async def steer(run: WatchedRun, dialogs: PiDialogs) -> None:
    """Ask for a word to the agent at work, and pass it on."""
    if not run.is_active:
        await dialogs.notify(f"{title_of(run)} has already ended; a task with its session id as resume continues it.")
        return
    if problem := run.run.why_not_steered():
        await dialogs.notify(with_advice(problem), "warning")
        return
    text = await dialogs.input(f"Tell {title_of(run)}", "It reads this before its next turn")
    if not text or not text.strip():
        return
    try:
        await asyncio.to_thread(run.run.steer, text)
    except PiSubagentsError as error:
        await dialogs.notify(with_advice(error), "warning")
    else:
        await dialogs.notify(f"{title_of(run)} reads it before its next turn.")


def title_of(run: WatchedRun) -> str:
    """The run's task, in quotation marks."""
    return f"“{' '.join(clean(run.state.name).split()) or '(unnamed)'}”"
