"""From an agent's bytes to events: framed, freed of secrets, decoded, and with streamed pieces put together.

A model streams a word at a time. Pieces that follow each other are joined until something else happens or the owner
asks for them, so that journal and windows see a few records a second instead of hundreds.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable

from pi_subagents.clock import NowMs
from pi_subagents.encoding import Frame, Framer, Oversized
from pi_subagents.harness import Decoder
from pi_subagents.models import event as ev
from pi_subagents.redaction import Redactor
from pi_subagents.runners import Stream
from pi_subagents.store import RunRecord


class AgentOutput:
    """Everything one process prints: the raw logs are kept here, the events are handed on."""

    def __init__(self, decoder: Decoder, redactor: Redactor, now_ms: NowMs, record: RunRecord) -> None:
        self._decoder = decoder
        self._stdout = EventStream(decoder, redactor, now_ms)
        self._stderr = TextStream(redactor)
        self._now_ms = now_ms
        self._record = record

    @property
    def has_pending(self) -> bool:
        """Whether streamed pieces wait to be taken."""
        return self._stdout.has_pending

    def feed(self, stream: Stream, data: bytes) -> list[ev.AnyEvent]:
        """The events that a chunk completes."""
        if stream == "stdout":
            return self._log_records(*self._stdout.feed(data))
        return self._log_text(self._stderr.feed(data))

    def finish(self, exit_code: int) -> list[ev.AnyEvent]:
        """What is left when the process is gone, and what its end stands for."""
        left = self._log_text(self._stderr.finish()) + self._log_records(*self._stdout.finish())
        return left + self._decoder.ended(exit_code, self._now_ms())

    def take_pending(self) -> list[ev.AnyEvent]:
        """The streamed pieces so far."""
        return self._stdout.take_pending()

    def take_replies(self) -> bytes:
        """What the agent waits to be told because of what it said."""
        return self._stdout.take_replies()

    def _log_records(self, events: list[ev.AnyEvent], frames: list[Frame]) -> list[ev.AnyEvent]:
        self._record.stdout.write(b"".join(frame + b"\n" for frame in frames if not isinstance(frame, Oversized)))
        return events

    def _log_text(self, text: str) -> list[ev.AnyEvent]:
        self._record.stderr.write(text.encode("utf-8", "replace"))
        return [ev.Stderr(at=self._now_ms(), text=text)] if text else []


class EventStream:
    """One run's standard output, decoded."""

    def __init__(self, decoder: Decoder, redactor: Redactor, now_ms: NowMs) -> None:
        self._framer = Framer()
        self._decoder = decoder
        self._redactor = redactor
        self._now_ms = now_ms
        self._joined: ev.Delta | None = None
        self._pieces: list[str] = []
        self._progress: ev.ToolProgress | None = None

    @property
    def has_pending(self) -> bool:
        """Whether streamed pieces wait to be taken."""
        return self._joined is not None or self._progress is not None

    def feed(self, data: bytes) -> tuple[list[ev.AnyEvent], list[Frame]]:
        """The events that `data` completes, and the records they came from (without streamed pieces)."""
        return self._decode(self._framer.feed(data))

    def finish(self) -> tuple[list[ev.AnyEvent], list[Frame]]:
        """What is left at the end of the stream."""
        events, frames = self._decode(self._framer.finish())
        return events + self._release(complete=True), frames

    def take_pending(self) -> list[ev.AnyEvent]:
        """The streamed pieces so far, less an end that could be the beginning of a secret."""
        return self._release(complete=False)

    def take_replies(self) -> bytes:
        """What the decoder wants to be sent to the agent."""
        return self._decoder.take_replies()

    def _decode(self, frames: Iterable[Frame]) -> tuple[list[ev.AnyEvent], list[Frame]]:
        events: list[ev.AnyEvent] = []
        kept: list[Frame] = []
        for frame in frames:
            clean = self._without_secrets(frame)
            decoded = self._decoder.decode(clean, self._now_ms())
            if not all(isinstance(event, ev.Delta | ev.ToolProgress) for event in decoded):
                kept.append(clean)
            for event in decoded:
                self._add(event, events)
        return events, kept

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
            self._progress = event
        else:
            # Only a message ends the pieces of one; whatever else comes in between, a secret may go on after it.
            events += self._release(complete=isinstance(event, ev.Message | ev.MessageStarted))
            events.append(event)

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
