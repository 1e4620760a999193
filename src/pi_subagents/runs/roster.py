"""All runs that are watched: found through the listing, kept up to date as cheaply as possible.

The listing is asked only when something on disk says that runs came or went. Between two listings only active runs
are read, and of the others only those on the screen, once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pi_subagents.models import Status
from pi_subagents.models.event import AnyEvent
from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.runs.listing import SessionSummary, Wanted, list_sessions, used_by
from pi_subagents.runs.watched import WatchedRun
from pi_subagents.store import Index

MAX_RECENT = 300
"""Sessions in the list; what is active is always there."""
_RELIST_S = 30.0
"""Without any sign the listing is asked all the same: no sign is certain on every file system."""


@dataclass(frozen=True, slots=True)
class News:
    """What a look at the disk has found; no `listed`: the same runs as before.

    A listed session comes with what its earlier runs have cost.
    """

    listed: list[tuple[SessionSummary, float]] | None
    events: list[tuple[WatchedRun, list[AnyEvent]]]


class Roster:
    """The runs, what is active first, then the newest first."""

    def __init__(self, place: Place, project: Path | None = None) -> None:
        self.place = place
        self.project = project
        self.runs: list[WatchedRun] = []
        self._index = Index(place.agent_dir)
        self._sign: object = None
        self._listed_at = 0.0

    @property
    def is_active(self) -> bool:
        """Whether any run has not ended."""
        return any(run.is_active for run in self.runs)

    def look(self, visible: Iterable[WatchedRun] = ()) -> News:
        """Read what is new; for a thread, one at a time. Nothing that is shown changes."""
        events = [(run, run.look()) for run in self.runs if run.is_active]
        for run in visible:
            if run.lacks_words:
                run.read_words()
        return News(self._list_if_changed(), [(run, told) for run, told in events if told])

    def apply(self, news: News) -> None:
        """Take in what a look has found."""
        for run, events in news.events:
            run.apply(events)
        runs = self.runs
        if news.listed is not None:
            known = {run.run_dir: run for run in runs}
            runs = [self._run(known, summary, cost_before) for summary, cost_before in news.listed]
        self.runs = sorted(runs, key=lambda run: run.order)

    def _run(self, known: dict[Path, WatchedRun], summary: SessionSummary, cost_before: float) -> WatchedRun:
        run = known.get(summary.run_dir)
        if run is None:
            return WatchedRun(summary, cost_before)
        run.run_count = summary.run_count
        return run

    def _list_if_changed(self) -> list[tuple[SessionSummary, float]] | None:
        sign = self._read_sign()
        now = time.monotonic()
        if sign == self._sign and now - self._listed_at < _RELIST_S:
            return None
        self._sign, self._listed_at = sign, now
        recent = list_sessions(self.place, Wanted(self.project, limit=MAX_RECENT))
        if len(recent) < MAX_RECENT:
            return self._with_costs_before(recent)
        active = list_sessions(self.place, Wanted(self.project, Status.RUNNING, limit=MAX_RECENT))
        return self._with_costs_before(list({session.run_dir: session for session in (*recent, *active)}.values()))

    def _with_costs_before(self, sessions: list[SessionSummary]) -> list[tuple[SessionSummary, float]]:
        known = {run.run_dir: run.cost_before for run in self.runs}
        unknown = [session for session in sessions if session.run_dir not in known]
        for session, used in zip(unknown, used_by(self.place, unknown), strict=True):
            known[session.run_dir] = used.cost - session.cost
        return [(session, known[session.run_dir]) for session in sessions]

    def _read_sign(self) -> object:
        """Changes when a run is published or deleted anywhere, and when the index learns of one."""
        projects = [self.project] if self.project else [*self._index.projects(), self.place.project]
        return [_changed_at(self._index.path), *(_changed_at(runs_dir(project)) for project in projects)]


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
