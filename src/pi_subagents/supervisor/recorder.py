"""Keeps the record of one run. An event is journalled, then folded, and only then shown; or none of it.

Journal and result must be written; logs and transcript are best effort, and so are the people who look on.

A journal has a bound: beyond it, details are dropped, and then the run is stopped.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from pi_subagents.clock import iso_time
from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState, advance
from pi_subagents.models import event as ev
from pi_subagents.progress import ProgressWords
from pi_subagents.store import RunRecord
from pi_subagents.store.writing import result_document
from pi_subagents.text import clean

MAX_MESSAGE_CHARACTERS = 64 * 1024
"""Of a message beyond the bound."""
_MAX_FIELD_CHARACTERS = 4 * 1024
_PART_CHARACTERS = 32
"""What an empty part takes in the journal."""

_OURS = (
    ev.Created,
    ev.HeldBack,
    ev.Started,
    ev.Detached,
    ev.StopRequested,
    ev.SteerRequested,
    ev.DetailsDropped,
    ev.Exited,
    ev.Ended,
)
_DETAILS = (
    ev.AgentInstructed,
    ev.Delta,
    ev.DialogDismissed,
    ev.Dropped,
    ev.EntryAppended,
    ev.ExtensionSpoke,
    ev.Output,
    ev.QueueChanged,
    ev.Repaired,
    ev.SessionRenamed,
    ev.ShellOutput,
    ev.Stderr,
    ev.ToolProgress,
    ev.Unknown,
)

_ENCODER = msgspec.json.Encoder()


def is_full(journal_bytes: int, bound: int) -> bool:
    """Whether the agent has to be stopped."""
    return journal_bytes >= 2 * bound


def within_bound(
    events: Sequence[ev.AnyEvent], journal_bytes: int, bound: int, *, noted: bool
) -> Sequence[ev.AnyEvent]:
    """What is to be written of `events`; unless it is `noted` already, with the note that something is missing."""
    if journal_bytes < bound:
        return events
    kept = list(_kept(events, is_full(journal_bytes, bound)))
    missing = len(kept) < len(events) or any(old is not new for old, new in zip(events, kept, strict=True))
    return [ev.DetailsDropped(at=events[0].at, bound=bound), *kept] if missing and not noted else kept


def _kept(events: Sequence[ev.AnyEvent], only_ours: bool) -> Iterator[ev.AnyEvent]:
    for event in events:
        if isinstance(event, _OURS):
            yield event
        elif not only_ours and not isinstance(event, _DETAILS):
            yield _shortened(event)


def _shortened(event: ev.AnyEvent) -> ev.AnyEvent:
    values = {name: getattr(event, name) for name in event.__struct_fields__}
    changes = {name: short for name, value in values.items() if (short := _short(value)) is not value}
    if not changes:
        return event
    if isinstance(event, ev.Message):
        changes["truncated"] = True
    return msgspec.structs.replace(event, **changes)


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value, _MAX_FIELD_CHARACTERS)
    if isinstance(value, dict):
        return _short_arguments(value, MAX_MESSAGE_CHARACTERS)
    if isinstance(value, tuple):
        parts = tuple(_short_parts(value))
        same = len(parts) == len(value) and all(old is new for old, new in zip(value, parts, strict=True))
        return value if same else parts
    return value


def _short_parts(parts: Sequence[ev.Part]) -> Iterator[ev.Part]:
    left = MAX_MESSAGE_CHARACTERS
    for part in parts:
        if left <= 0:
            return
        short = _short_part(part, left)
        left -= _PART_CHARACTERS + len(_ENCODER.encode(short))
        yield short


def _short_part(part: ev.Part, left: int) -> ev.Part:
    if isinstance(part, ev.TextPart | ev.ThinkingPart):
        text = _cut(part.text, left)
        return part if text is part.text else type(part)(text)
    if isinstance(part, ev.ToolCallPart):
        arguments = _short_arguments(part.arguments, left)
        name, call_id = _cut(part.name, _MAX_FIELD_CHARACTERS), _cut(part.id, _MAX_FIELD_CHARACTERS)
        same = arguments is part.arguments and name is part.name and call_id is part.id
        return part if same else ev.ToolCallPart(call_id, name, arguments)
    if isinstance(part, ev.OtherPart):
        kind = _cut(part.kind, _MAX_FIELD_CHARACTERS)
        return part if kind is part.kind else ev.OtherPart(kind)
    mime_type = _cut(part.mime_type, _MAX_FIELD_CHARACTERS)
    return part if mime_type is part.mime_type else ev.ImagePart(mime_type, part.size)


def _short_arguments(arguments: dict[str, Any], most: int) -> dict[str, Any]:
    return arguments if len(_ENCODER.encode(arguments)) <= most else {}


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[… {len(text) - most:,} characters left out …]"


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
