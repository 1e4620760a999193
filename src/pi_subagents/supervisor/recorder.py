"""From an agent's bytes to its record: framed, freed of secrets, decoded, journalled, folded, shown.

A model streams a word at a time. Pieces that follow each other are joined until something else happens or the owner
asks for them, so that journal and windows see a few records a second instead of hundreds.

An event is journalled, then folded, and only then shown; or none of it. Journal and result must be written; logs and
transcript are best effort, and so are the people who look on.
"""

from __future__ import annotations

import codecs
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from msgspec.structs import replace

from pi_subagents.clock import NowMs, iso_time
from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState, advance
from pi_subagents.harness import Dialogue
from pi_subagents.harness.frames import dropped, output
from pi_subagents.jsonl import Frame, Framer, Oversized
from pi_subagents.models import event as ev
from pi_subagents.models.parts import Part, TextPart, ThinkingPart
from pi_subagents.progress import ProgressWords
from pi_subagents.redaction import Redactor
from pi_subagents.runners import Stream
from pi_subagents.store import RunRecord
from pi_subagents.store.writing import result_document
from pi_subagents.supervisor.limits import beyond_bound
from pi_subagents.text import clean

Observer = Callable[[RunState, Sequence[ev.Event]], None]
"""Told of everything that happened in a run once it is journalled, of its end too, with the state after it."""

_log = logging.getLogger(__name__)


class Log(Protocol):
    """Where raw output is kept, as long as there is room."""

    def write(self, data: bytes, /) -> object: ...


class AgentOutput:
    """Everything one process prints: the raw logs are kept here, the events are handed on."""

    def __init__(self, dialogue: Dialogue, redactor: Redactor, now_ms: NowMs, stdout: Log, stderr: Log) -> None:
        self._errors = TextStream(redactor)
        self._framer = Framer()
        self._dialogue = dialogue
        self._redactor = redactor
        self._now_ms = now_ms
        self._stdout = stdout
        self._stderr = stderr
        self._joined: ev.Delta | None = None
        self._pieces: list[str] = []
        self._progress: ev.ToolProgress | None = None

    @property
    def has_pending(self) -> bool:
        """Whether streamed pieces wait to be taken."""
        return self._joined is not None or self._progress is not None

    def feed(self, stream: Stream, data: bytes) -> list[ev.AnyEvent]:
        """The events that a chunk completes."""
        return self._decode(self._framer.feed(data)) if stream == "stdout" else self._said(self._errors.feed(data))

    def finish(self, exit_code: int) -> list[ev.AnyEvent]:
        """What is left when the process is gone, and what its end stands for."""
        left = self._said(self._errors.finish()) + self._decode(self._framer.finish()) + self._release(complete=True)
        for event in self._dialogue.ended(exit_code, self._now_ms()):
            self._add(event, left)
        return left + self._release(complete=True)

    def take_pending(self) -> list[ev.AnyEvent]:
        """The streamed pieces so far, less an end that could be the beginning of a secret."""
        return self._release(complete=False)

    def take_replies(self) -> bytes:
        """What the agent waits to be told because of what it said."""
        return self._dialogue.take_replies()

    def _said(self, text: str) -> list[ev.AnyEvent]:
        self._stderr.write(text.encode("utf-8", "replace"))
        return [ev.Stderr(at=self._now_ms(), text=text)] if text else []

    def _decode(self, frames: Iterable[Frame]) -> list[ev.AnyEvent]:
        events: list[ev.AnyEvent] = []
        kept: list[bytes] = []
        for frame in frames:
            clean_frame = self._without_secrets(frame)
            decoded = self._understood(clean_frame)
            # The next piece may hold the rest of a secret.
            is_piece = any(isinstance(event, ev.Delta | ev.ToolProgress) for event in decoded)
            if decoded and not is_piece and not isinstance(clean_frame, Oversized):
                kept.append(clean_frame + b"\n")
            for event in decoded:
                self._add(event, events)
        self._stdout.write(b"".join(kept))
        return events

    def _understood(self, frame: Frame) -> list[ev.AnyEvent]:
        at = self._now_ms()
        try:
            return self._dialogue.decode(frame, at)
        except Exception:  # noqa: BLE001 - a record that our decoder fails at must not cost the run what comes after it
            _log.exception("a record of the agent could not be decoded")
            return [dropped(frame, at) if isinstance(frame, Oversized) else output(frame, at)]

    def _without_secrets(self, frame: Frame) -> Frame:
        if not isinstance(frame, Oversized):
            return self._redactor.record(frame)
        head = self._redactor.cut_text(frame.head.decode("utf-8", "replace"))
        return Oversized(frame.size, head.encode("utf-8", "replace"))

    def _add(self, event: ev.AnyEvent, events: list[ev.AnyEvent]) -> None:
        if isinstance(event, ev.Delta):
            if self._joined is not None and self._joined.kind != event.kind:
                events += self._release(complete=True)
            self._joined = event
            self._pieces.append(event.text)
        elif isinstance(event, ev.ToolProgress):
            self._progress = replace(event, line=self._redactor.cut_text(event.line))
        else:
            # Only a message ends the pieces of one; whatever else comes in between, a secret may go on after it.
            events += self._release(complete=isinstance(event, ev.Message | ev.MessageStarted))
            events.append(self._whole(event) if isinstance(event, ev.Message) else event)

    def _whole(self, message: ev.Message) -> ev.Message:
        """The message without secrets: one that was put together from pieces may have one that none of them had."""
        if not self._redactor:
            return message

        def clean_part(part: Part) -> Part:
            if isinstance(part, TextPart | ThinkingPart):
                return replace(part, text=self._redactor.cut_text(part.text))
            return part

        error = message.error_message and self._redactor.text(message.error_message)
        return replace(message, parts=tuple(map(clean_part, message.parts)), error_message=error)

    def _release(self, *, complete: bool) -> list[ev.AnyEvent]:
        events: list[ev.AnyEvent] = []
        if self._joined is not None:
            last, joined = self._joined, "".join(self._pieces)
            text = self._redactor.cut_text(joined) if complete else self._redactor.text(joined)
            held = 0 if complete else self._redactor.held_back(text)
            ready = text[: len(text) - held]
            self._joined, self._pieces = (last, [text[len(ready) :]]) if held else (None, [])
            if ready:
                events.append(ev.Delta(at=last.at, kind=last.kind, text=ready))
        if self._progress is not None:
            events.append(self._progress)
            self._progress = None
        return events


class TextStream:
    """One run's standard error: no character is cut in two, and no secret gets through in pieces."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes) -> str:
        """The text that `data` completes."""
        text = self._redactor.text(self._held + self._decoder.decode(data))
        ready = len(text) - self._redactor.held_back(text)
        self._held = text[ready:]
        return text[:ready]

    def finish(self) -> str:
        """What is left at the end of the stream."""
        text = self._held + self._decoder.decode(b"", final=True)
        self._held = ""
        return self._redactor.cut_text(text)


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
        if self._record.journal_bytes >= self._bound:
            noted = self.state.details_dropped
            events = beyond_bound(events, self._bound, only_ours=self.is_full, noted=noted)
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
        """Whether nothing more of the agent is journalled, which has to be stopped."""
        return self._record.journal_bytes >= 2 * self._bound

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
        final = replace(self.state)
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
