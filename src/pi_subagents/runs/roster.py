"""The runs that are watched: found through the listing, kept up to date as cheaply as possible.

The listing is asked only when something on disk says that runs came or went. Between two listings only active runs
are read, and of the others only those on the screen, once. A run is what the index says of it, or, while it is active,
what its journal says.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState, fold
from pi_subagents.models import Status
from pi_subagents.models.event import AnyEvent
from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.progress import Window, body_segments
from pi_subagents.runs.listing import SessionSummary, Wanted, list_sessions, used_by
from pi_subagents.runs.live import RunFollower
from pi_subagents.runs.run import Run
from pi_subagents.store import RESULT_FILE, Index, read_file
from pi_subagents.text import Line, Style, clean

MAX_RECENT = 300
"""Sessions in the list; what is active is always there."""
_RELIST_S = 30.0
"""Without any sign the listing is asked all the same: no sign is certain on every file system."""


class WatchedRun:
    """The latest run of a session. Reading is for a thread, applying for the program's own."""

    def __init__(self, summary: SessionSummary, cost_before: float = 0.0) -> None:
        self.session_id = summary.latest.session_id
        self.run_dir = summary.run_dir
        self.project = summary.latest.project
        self.run_count = summary.run_count
        self.cost_before = cost_before
        self.created_at = summary.state.created_at or 0
        self.window = Window(summary.state, max_lines=1)
        self._follower = None if summary.latest.is_over else RunFollower(summary.run_dir)
        self._told = False
        self._problem: str | None = None
        self._final_words: str | None = None

    @property
    def state(self) -> RunState:
        state = self.window.state
        assert isinstance(state, RunState)
        return state

    @property
    def run(self) -> Run:
        """The run, for whoever wants to do something with it."""
        return Run(self.run_dir, self.state)

    @property
    def cost(self) -> float:
        """What all runs of the session have cost."""
        return self.cost_before + self.state.usage.cost

    @property
    def is_active(self) -> bool:
        """Whether there is more to come."""
        return self._follower is not None

    @property
    def order(self) -> tuple[bool, int, str]:
        """Sorts what is active first, then the newest first."""
        return self.state.status.is_terminal, -self.created_at, self.session_id

    @property
    def searched(self) -> str:
        """Everything a search looks at."""
        state = self.state
        agents = (state.asked_as, state.other_agent)
        parts = (state.name, *agents, state.provider, state.model, self.session_id, self.project.name)
        return " ".join(part for part in (*parts, state.error) if part).casefold()

    def look(self) -> list[AnyEvent]:
        """What happened since the last look."""
        if self._follower is None:
            return []
        try:
            return self._follower.look()
        except StoreError as error:
            self._problem = str(error)
            self._follower = None
            return []

    def apply(self, events: list[AnyEvent]) -> None:
        """Take in what happened."""
        if not events:
            return
        if not self._told:
            # The journal tells everything from the beginning: nothing is counted twice.
            self._told = True
            self.window = Window(RunState.of_run(self.run_dir.name), max_lines=1)
        for event in events:
            fold(self.state, [event])
            self.window.apply(event)
        if self._follower is not None and self._follower.ended:
            self._follower = None

    @property
    def lacks_words(self) -> bool:
        """Whether its answer is still on disk alone."""
        return self._final_words is None and not self.is_active and not self._told

    def read_words(self) -> None:
        """Fetch what a finished run has answered."""
        self._final_words = _first_words(_final_text(self.run_dir))

    @property
    def words(self) -> Line:
        """What the agent says or does now, or how its answer begins; of a run that went wrong, why."""
        if self._problem is not None:
            return [(Style.ERROR, clean(self._problem))]
        if self.is_active or self.state.error:
            return body_segments(self.window)[-1]
        if self._final_words is None and self._told:
            self._final_words = _first_words(self.state.final_text or "")
        return [(Style.MUTED, self._final_words or "")]


class News(msgspec.Struct, frozen=True):
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
            known[session.run_dir] = used.cost - session.state.usage.cost
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


# --- how an answer begins ----------------------------------------------------------------------------------------


_FENCES = ("```", "~~~")
_LEADING_MARKS = re.compile(r"\s*(?:(?:#{1,6}|>|[-*+])\s+|>)*")
_PAIRED_MARKS = re.compile(r"(\*\*|`)(?=\S)(.+?)(?<=\S)\1")
_MAX_WORDS = 500


def _first_words(text: str) -> str:
    """The first line of a Markdown text that has words, without its marks."""
    for line in text.split("\n"):
        words = _LEADING_MARKS.sub("", line[:_MAX_WORDS], count=1)
        if not words.startswith(_FENCES) and re.search(r"\w", words):
            return clean(_PAIRED_MARKS.sub(r"\2", words)).strip()
    return clean(text.strip().partition("\n")[0][:_MAX_WORDS])


class _Result(msgspec.Struct, rename="camel"):
    final_text: str | None = None


def _final_text(run_dir: Path) -> str:
    try:
        return decode_json(read_file(run_dir / RESULT_FILE), _Result).final_text or ""
    except JsonError:
        return ""
