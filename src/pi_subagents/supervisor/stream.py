"""From an agent's bytes to events: framed, freed of secrets, decoded, and with streamed pieces put together.

A model streams a word at a time. Pieces that follow each other are joined until something else happens or the owner
asks for them, so that journal and windows see a few records a second instead of hundreds.
"""

from __future__ import annotations

from collections.abc import Iterable

from pi_subagents.clock import NowMs
from pi_subagents.harness import Decoder
from pi_subagents.jsonl import Frame, Framer, Oversized
from pi_subagents.models import event as ev
from pi_subagents.redaction import Redactor


class EventStream:
    """One run's output, decoded."""

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
        self._flush(events)
        return events, frames

    def take_pending(self) -> list[ev.AnyEvent]:
        """The streamed pieces so far, less an end that could be the beginning of a secret."""
        events: list[ev.AnyEvent] = []
        if self._joined is None:
            self._flush(events)
            return events
        text = "".join(self._pieces)
        keep = self._redactor.held_back(text)
        ready, held = (text[:-keep], text[-keep:]) if keep else (text, "")
        last = self._joined
        self._joined, self._pieces = None, []
        if ready:
            events.append(ev.Delta(at=last.at, kind=last.kind, text=self._redactor.text(ready)))
        if held:
            self._joined, self._pieces = last, [held]
        return events

    def _decode(self, frames: Iterable[Frame]) -> tuple[list[ev.AnyEvent], list[Frame]]:
        events: list[ev.AnyEvent] = []
        kept: list[Frame] = []
        for frame in frames:
            clean = frame if isinstance(frame, Oversized) else self._redactor.record(frame)
            decoded = self._decoder.decode(clean, self._now_ms())
            if not all(isinstance(event, ev.Delta | ev.ToolProgress) for event in decoded):
                kept.append(clean)
            for event in decoded:
                self._add(event, events)
        return events, kept

    def _add(self, event: ev.AnyEvent, events: list[ev.AnyEvent]) -> None:
        if isinstance(event, ev.Delta):
            if self._joined is not None and self._joined.kind != event.kind:
                self._flush(events)
            self._joined = event
            self._pieces.append(event.text)
        elif isinstance(event, ev.ToolProgress):
            self._progress = event
        else:
            self._flush(events)
            events.append(event)

    def _flush(self, events: list[ev.AnyEvent]) -> None:
        if self._joined is not None:
            text = self._redactor.text("".join(self._pieces))
            events.append(ev.Delta(at=self._joined.at, kind=self._joined.kind, text=text))
            self._joined, self._pieces = None, []
        if self._progress is not None:
            events.append(self._progress)
            self._progress = None
