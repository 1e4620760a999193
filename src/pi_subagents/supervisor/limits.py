"""What a run may use before it is stopped, and when its provider lets it begin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from pi_subagents.fold import RunState
from pi_subagents.models import event as ev
from pi_subagents.models.event import NestedCall, ToolCallPart
from pi_subagents.store import Pace
from pi_subagents.text.patterns import pattern

# --- time and loops ----------------------------------------------------------------------------------------


class Limits(msgspec.Struct, frozen=True):
    """What a run is allowed; 0 switches the extension or the loop detection off, None the timeout.

    Beyond `journal_bytes` the journal leaves out details; at twice as much the run is stopped.
    """

    timeout_s: float | None = 600
    extension_s: float = 30
    loop_count: int = 5
    journal_bytes: int = 1_000_000_000


_MAX_RUNNING = 100
"""Tools at the same time; an agent has so many only if it never tells of their end."""


class Deadline:
    """Two timers in one: the timeout, and once it has passed, a short leash that every tool call renews.

    Only an agent that is at work gets the leash: one that has called a tool within its length, or waits for one.
    """

    def __init__(self, limits: Limits, now: float) -> None:
        self._extension_s = limits.extension_s
        self._extended = False
        self._last_call: float | None = None
        self._running: set[str] = set()
        self.at: float | None = None if limits.timeout_s is None else now + limits.timeout_s

    def tool_called(self, now: float, running: str | None = None) -> bool:
        """Take note of a call, with its id if the tool has been started; True if the deadline moved."""
        self._last_call = now
        if running is not None and len(self._running) < _MAX_RUNNING:
            self._running.add(running)
        if self._extended:
            self.at = now + self._extension_s
        return self._extended

    def tool_ended(self, call_id: str) -> None:
        """Take note that the agent no longer waits for a tool."""
        self._running.discard(call_id)

    def put_off(self, seconds: float) -> None:
        """Take note that nobody looked for so long: the program that holds the run was stopped."""
        if self.at is not None:
            self.at += seconds
        if self._last_call is not None:
            self._last_call += seconds

    def passed(self, now: float) -> bool:
        """Called when the deadline is reached: True if the run must end, False if it got an extension."""
        if self._extended:
            return True
        leash = (self._last_call + self._extension_s) if self._last_call is not None else now
        if leash <= now and self._running:
            leash = now + self._extension_s  # a tool that takes long is work, but not for ever
        self._extended, self.at = leash > now, leash
        return not self._extended


class LoopDetector:
    """Notices the same tool call made several times in a row."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._last = b""
        self._repeats = 0

    def tool_called(self, call: ToolCallPart | NestedCall) -> bool:
        """Take note of a call; True once it is the n-th identical one in a row."""
        if self._count <= 0:
            return False
        if isinstance(call, ToolCallPart) and call.is_guessed:  # it may well differ from the one before
            self._last, self._repeats = b"", 0
            return False
        signature = msgspec.json.encode((call.name, call.arguments))
        self._repeats = self._repeats + 1 if signature == self._last else 1
        self._last = signature
        return self._repeats >= self._count


# --- the size of a journal: beyond its bound details are dropped, and at twice as much the run is stopped --

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
S = TypeVar("S", bound=msgspec.Struct)


def beyond_bound(events: Sequence[ev.AnyEvent], bound: int, *, only_ours: bool, noted: bool) -> Sequence[ev.AnyEvent]:
    """What is written of `events` all the same; unless it is `noted` already, with the note that something is missing.

    `only_ours` leaves nothing of what the agent said.
    """
    kept = list(_kept(events, only_ours))
    missing = len(kept) < len(events) or any(old is not new for old, new in zip(events, kept, strict=True))
    return [ev.DetailsDropped(at=events[0].at, bound=bound), *kept] if missing and not noted else kept


def _kept(events: Sequence[ev.AnyEvent], only_ours: bool) -> Iterator[ev.AnyEvent]:
    for event in events:
        if isinstance(event, _OURS):
            yield event
        elif not only_ours and not isinstance(event, _DETAILS):
            short = _shortened(event, MAX_MESSAGE_CHARACTERS)
            is_cut = short is not event and isinstance(event, ev.Message)
            yield msgspec.structs.replace(short, truncated=True) if is_cut else short


def _shortened(struct: S, room: int) -> S:
    """The struct with its long values cut, the very same if it has none."""
    values = {name: getattr(struct, name) for name in struct.__struct_fields__}
    changes = {name: short for name, value in values.items() if (short := _short(name, value, room)) is not value}
    return msgspec.structs.replace(struct, **changes) if changes else struct


def _short(name: str, value: Any, room: int) -> Any:
    if isinstance(value, str):
        return _cut(value, room if name == "text" else _MAX_FIELD_CHARACTERS)
    if isinstance(value, dict):
        return value if len(_ENCODER.encode(value)) <= room else {}
    if isinstance(value, tuple):
        parts = tuple(_short_parts(value))
        same = len(parts) == len(value) and all(old is new for old, new in zip(value, parts, strict=True))
        return value if same else parts
    return value


def _short_parts(parts: Sequence[S]) -> Iterator[S]:
    left = MAX_MESSAGE_CHARACTERS
    for part in parts:
        if left <= 0:
            return
        short = _shortened(part, left)
        left -= _PART_CHARACTERS + len(_ENCODER.encode(short))
        yield short


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[… {len(text) - most:,} characters left out …]"


# --- providers that are busy -------------------------------------------------------------------------------

_TOO_BUSY = pattern(r"\b(429|529)\b|rate.?limit|overloaded|too many requests", re.IGNORECASE)
_SPREAD_MS = 1000
"""Those who were held back do not all begin in the same instant."""


class Pacing:
    """For one run; `default_provider` is whom it will ask if neither profile nor agent has said yet."""

    def __init__(self, pace: Pace, default_provider: str | None) -> None:
        self._pace = pace
        self._default_provider = default_provider

    def provider_of(self, state: RunState) -> str:
        """Whom a run asks, as far as it is known; nobody is the empty text."""
        prefix = state.model.partition("/")[0] if state.model and "/" in state.model else None
        return state.provider or prefix or self._default_provider or ""

    def hold(self, state: RunState, now: int) -> int:
        """Until when the run must wait (ms); 0 if it may begin."""
        provider = self.provider_of(state)
        until = self._pace.resumes_at(provider, now) if provider else 0
        return until + sum(state.run_id.encode()) * 7919 % _SPREAD_MS if until else 0

    def heed(self, state: RunState, events: Sequence[ev.AnyEvent]) -> None:
        """Pass on what the provider of a run at work has asked for."""
        for event in events:
            if isinstance(event, ev.RetryStarted) and _TOO_BUSY.search(event.message) and self.provider_of(state):
                self._pace.slow_down(self.provider_of(state), event.at + event.delay_ms, event.at)
