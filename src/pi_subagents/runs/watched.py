"""One run in the list: what the index says of it, or, while it is active, what its journal says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState, fold
from pi_subagents.models import Usage
from pi_subagents.models.event import AnyEvent
from pi_subagents.progress import Window, body_segments
from pi_subagents.runs.following import RunFollower
from pi_subagents.runs.listing import SessionSummary
from pi_subagents.store import RESULT_FILE, read_file
from pi_subagents.text import Line, Style, clean


class WatchedRun:
    """The latest run of a session. Reading is for a thread, applying for the program's own."""

    def __init__(self, summary: SessionSummary, cost_before: float = 0.0) -> None:
        self.session_id = summary.session_id
        self.run_dir = summary.run_dir
        self.project = summary.project
        self.run_count = summary.run_count
        self.cost_before = cost_before
        self.created_at = summary.created_at or 0
        self.window = Window(_state_of(summary), max_lines=1)
        self._follower = None if summary.status.is_terminal else RunFollower(summary.run_dir)
        self._told = False
        self._problem: str | None = None
        self._final_words: str | None = None

    @property
    def state(self) -> RunState:
        state = self.window.state
        assert isinstance(state, RunState)
        return state

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
        parts = (state.name, state.agent, state.provider, state.model, self.session_id, self.project.name)
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


def _state_of(summary: SessionSummary) -> RunState:
    facts: dict[str, Any] = {
        name: getattr(summary, name)
        for name in (
            *("session_id", "name", "status", "reason", "error", "profile", "preset", "provider", "model"),
            *("created_at", "started_at", "completed_at", "tool_count", "is_damaged"),
        )
    }
    usage = Usage(total_tokens=summary.tokens, cost=summary.cost)
    return RunState(run_id=summary.run_dir.name, usage=usage, **facts)
