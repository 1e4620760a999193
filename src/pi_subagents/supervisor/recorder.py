"""Keeps the record of one run. An event is journalled, then folded, and only then shown; or none of it.

Journal and result must be written; logs and transcript are best effort, and so are the people who look on.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Sequence

from pi_subagents.clock import iso_time
from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState, advance
from pi_subagents.models import event as ev
from pi_subagents.progress import ProgressWords
from pi_subagents.store import RunRecord
from pi_subagents.store.result_file import result_document
from pi_subagents.supervisor.journal_bound import is_full, within_bound
from pi_subagents.text import clean

Observer = Callable[[RunState, Sequence[ev.Event]], None]

_log = logging.getLogger(__name__)


class Recorder:
    """The journal of a run, its state, and who is told. `broken` is why nothing more can be journalled."""

    def __init__(self, record: RunRecord, state: RunState, observer: Observer | None, bound: int) -> None:
        self.state = state
        self.broken: StoreError | None = None
        self._record = record
        self._observer = observer
        self._bound = bound
        self._words = ProgressWords(cwd=state.cwd, multiline=True)
        self._has_header = state.started_at is not None  # whoever began the run has written it

    def happened(self, events: Sequence[ev.AnyEvent]) -> bool:
        """Journal, fold, show: in this order, or not at all; False if they could not be journalled."""
        if self.broken is not None:
            return False
        events = within_bound(events, self._record.journal_bytes, self._bound, noted=self.state.details_dropped)
        if not events:
            return True
        try:
            self._record.append(events)
        except StoreError as error:
            self.give_up(error)
            return False
        self.show(events)
        return True

    @property
    def is_full(self) -> bool:
        """Whether nothing more of the agent is journalled."""
        return is_full(self._record.journal_bytes, self._bound)

    def show(self, events: Sequence[ev.AnyEvent]) -> None:
        """Fold and show without journalling: for the one event that says why there is no journal."""
        advance(self.state, events)
        try:
            self._write_transcript(events)
            if self._observer is not None:
                self._observer(self.state, events)
        except Exception:  # noqa: BLE001 - who looks on, and in which words, must not cost the run its result
            _log.exception("an observer of run %s failed", self.state.run_id)

    def sync(self) -> None:
        """Make the journal survive a power cut; if that fails, nothing more is journalled."""
        try:
            self._record.sync()
        except StoreError as error:
            self.give_up(error)

    def give_up(self, error: StoreError) -> None:
        """Without a journal there is no truth about the run."""
        _log.error("%s", error)
        self.broken = self.broken or error

    def draft_result(self, ended: ev.Ended | None) -> None:
        """Write the result as it will be once `ended` is journalled, but not under its name; raises StoreError."""
        self._record.sync()
        final = copy.copy(self.state)
        self._record.draft_result(result_document(advance(final, [ended]) if ended else final))

    def publish_result(self) -> None:
        """Give the drafted result its name; should that fail, any reader makes it anew from the journal."""
        if self.broken is not None:  # the draft may say what the journal does not
            return
        try:
            self._record.publish_result()
            self._record.sync()
        except StoreError as error:
            _log.error("%s", error)

    def _write_transcript(self, events: Sequence[ev.AnyEvent]) -> None:
        lines = [words for event in events if (words := self._words.say(event))]
        if lines and not self._has_header:
            self._has_header = True
            lines = [*_header(self.state), "", *lines]
        if lines:
            self._record.transcript.write(("\n".join(lines) + "\n").encode("utf-8", "replace"))


def _header(state: RunState) -> Iterator[str]:
    """What somebody who opens the transcript alone wants to know first."""
    facts = {
        "name": state.name,
        "profile": state.profile,
        "preset": state.preset,
        "model": state.model or state.resolved_model or state.requested_model,
        "cwd": state.cwd,
        "time": iso_time(state.created_at) if state.created_at else None,
    }
    return (f"{label}: {clean(fact)}" for label, fact in facts.items() if fact)
