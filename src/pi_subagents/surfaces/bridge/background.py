"""Watches the background runs of the conversation: each end is told exactly once, and the footer counts them.

The visible message goes out first and the mark on disk follows it. When a conversation is opened again, its own log
says which messages arrived: a missing mark is made up, and so is a message that was lost on the way.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.place import Place
from pi_subagents.progress import excerpt_segments, standing
from pi_subagents.runners.detached import collect_ended
from pi_subagents.runs.background import (
    LAUNCH_ENTRY,
    UPDATE_ENTRY,
    Registry,
    announcement,
    footer,
    mark_announced,
)
from pi_subagents.runs.forms import run_row
from pi_subagents.runs.listing import Wanted, list_sessions
from pi_subagents.runs.run import Run
from pi_subagents.surfaces.bridge.entries import DONE_MESSAGE, spend
from pi_subagents.surfaces.bridge.host import PiHost
from pi_subagents.surfaces.bridge.peer import Peer
from pi_subagents.surfaces.bridge.views import lines_view
from pi_subagents.text import clean, clip
from pi_subagents.tools.outputs import cut_answer, end_line, ended_lines

_POLL_S = 0.5
_EXCERPT_LINES = 15
_NOTICE_CELLS = 76

logger = logging.getLogger(__name__)


class BackgroundWatch:
    """The background runs of one conversation at a time."""

    def __init__(self, peer: Peer, host: PiHost) -> None:
        self._peer = peer
        self._host = host
        self._runs: dict[str, Run] = {}
        self._told: set[str] = set()
        self._launched = asyncio.Event()
        self._work: asyncio.Task[None] | None = None

    def open(self) -> None:
        """The conversation has been opened, or is another one now."""
        self.close()
        self._told |= self._host.log.told
        self._work = asyncio.create_task(self._watch(self._host.place, self._host.owner))

    def close(self) -> None:
        """Watch no longer."""
        if self._work is not None:
            self._work.cancel()

    def launched(self, row: dict[str, Any]) -> None:
        """A run has been launched by a call of this conversation."""
        if row["runId"] not in self._host.log.launched:  # otherwise the search of the disk found it sooner
            self._append(LAUNCH_ENTRY, row)
        # It may be over by now; the next look finds out and tells.
        state = RunState(row["runId"], row["sessionId"], owner=self._host.owner, status=Status.RUNNING)
        self._runs[state.run_id] = Run(Path(row["paths"]["runDir"]), state)
        self._show_footer()
        self._launched.set()

    async def _watch(self, place: Place, owner: str) -> None:
        try:
            runs = await asyncio.to_thread(_find, place, owner, set(self._host.log.launched))
            # Some may have been launched while the disk was searched.
            known = {run_id: run for run_id, run in self._runs.items() if run.state.owner == owner}
            self._runs = known | {run.state.run_id: run for run in runs}
            self._show_footer()
            for run in list(self._runs.values()):
                await self._reconcile(run)
            while True:
                await self._look()
                await self._pause()
        except Exception:  # calls go on without it
            logger.exception("background runs are no longer watched")

    async def _pause(self) -> None:
        """Until it is worth looking again: soon while a run is under way, else when there is one."""
        self._launched.clear()
        if all(run.is_over for run in self._runs.values()):
            await self._launched.wait()
        await asyncio.sleep(_POLL_S)

    async def _look(self) -> None:
        active = [run for run in self._runs.values() if not run.is_over]
        if not active:
            return
        for run in await asyncio.to_thread(_look, active):
            self._runs[run.id] = run
            if run.is_over:
                await self._reconcile(run)

    async def _reconcile(self, run: Run) -> None:
        """Bring the conversation up to date with the disk."""
        log, run_id = self._host.log, run.state.run_id
        if run_id not in log.launched:
            self._append(LAUNCH_ENTRY, run_row(run))
        if not run.is_over:
            return
        if run_id not in log.updated:
            row = run_row(run)
            self._append(UPDATE_ENTRY, {**row, "view": lines_view(ended_lines(row))})
            if run.state.owner == self._host.owner:
                self._count_spend(run.state)
        if run.state.owner != self._host.owner:
            return
        if run_id not in self._told:
            self._told.add(run_id)
            self._announce(run)
            await self._peer.flush()
        await asyncio.to_thread(mark_announced, run.run_dir)

    def _announce(self, run: Run) -> None:
        self._show_footer()
        state, words = run.state, announcement(run)
        result = cut_answer(state.text.strip(), state.session_id)
        rows = [end_line(state.status.value, words), *(excerpt_segments(result, _EXCERPT_LINES) if result else [])]
        details = {
            "runId": state.run_id,
            "sessionId": state.session_id,
            "status": state.status.value,
            "view": lines_view(rows),
        }
        content = f"{words}\n\n{result}" if result else words
        level = "info" if state.status is Status.COMPLETED else "warning"
        self._peer.notify("ui/notify", {"message": _notice(state), "level": level})
        self._peer.notify("message/show", {"type": DONE_MESSAGE, "content": content, "details": details})

    def _count_spend(self, state: RunState) -> None:
        """Add what the run has cost to the conversation's totals: the call that launched it could not know."""
        if usage := spend(state.usage):
            whose = {"provider": state.provider or "unknown", "model": state.model or "unknown"}
            self._peer.notify("usage/append", {**whose, "usage": usage})

    def _append(self, kind: str, row: dict[str, Any]) -> None:
        self._host.log.take(kind, row)
        self._peer.notify("entry/append", {"type": kind, "data": row})

    def _show_footer(self) -> None:
        own = [run for run in self._runs.values() if run.state.owner == self._host.owner]
        text = footer(own) if own else None
        self._peer.notify("ui/status", {"text": text})


def _notice(state: RunState) -> str:
    """That a run is over, in one short line: the message says the rest."""
    name = state.asked_as or state.other_agent
    agent = f' "{name}"' if name else ""
    words = f"Background agent{agent} {standing(state)}: {state.name}"
    return clip(" ".join(clean(words).split()), _NOTICE_CELLS)


def _find(place: Place, owner: str, launched: set[str]) -> list[Run]:
    """The owner's runs, each in its true state; on the way every run of the project is closed that was lost.

    Runs that the log names are found even where the index does not know them, and those of others are among them: a
    fork has their rows too, though nobody there is told of their ends.
    """
    list_sessions(place, Wanted(place.project, Status.RUNNING, limit=1000))
    registry = Registry(place, owner)
    runs = registry.runs()
    unknown = launched - {run.state.run_id for run in runs}
    return [*runs, *(run for run_id in unknown for run in registry.find_all(run_id))]


def _look(active: list[Run]) -> list[Run]:
    """The runs as they are now."""
    collect_ended()
    looked = []
    for run in active:
        with suppress(StoreError):  # what cannot be read at the moment may be at the next look
            looked.append(run.look())
    return looked
