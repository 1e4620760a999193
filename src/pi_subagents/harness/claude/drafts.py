"""The message that claude is writing: blocks arrive whole, the one in progress in pieces, and the usage at the end.

A message that breaks off never gets a stop reason. It counts with what had arrived, unless claude begins it anew.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from pi_subagents.harness.claude.records import parts_in, usage_in
from pi_subagents.harness.frames import object_in, text_in
from pi_subagents.models import event as ev
from pi_subagents.models.run import Usage
from pi_subagents.text.streamed import StreamedText

Kind = Literal["text", "thinking", "toolCall"]

_STOP_REASONS = {"tool_use": "toolUse", "max_tokens": "length"}
_DELTAS: dict[str, tuple[str, Kind]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", "toolCall"),
}


class Draft(msgspec.Struct):
    """What has arrived of a message, less what was taken out of it as a message of its own."""

    id: str
    model: str | None = None
    is_streaming: bool = False
    is_aborted: bool = False
    stop_reason: str | None = None
    error: str | None = None
    usage: dict[str, Any] = msgspec.field(default_factory=dict)
    parts: list[ev.Part] = msgspec.field(default_factory=list)
    _thinking: StreamedText = msgspec.field(default_factory=StreamedText)
    _text: StreamedText = msgspec.field(default_factory=StreamedText)

    @classmethod
    def of(cls, message: dict[str, Any], *, is_streaming: bool) -> Draft:
        """The draft that a record begins."""
        usage = object_in(message.get("usage"))
        return cls(str(message.get("id")), text_in(message.get("model")), is_streaming=is_streaming, usage=usage)

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come: claude said why it stops, or the message came without being streamed."""
        return not self.is_streaming or self.is_aborted or self.stop_reason is not None

    def add_piece(self, event: dict[str, Any], at: int) -> ev.Delta | None:
        """Add a piece of the block in progress; None if there is nothing to tell."""
        delta = object_in(event.get("delta"))
        field, kind = _DELTAS.get(text_in(delta.get("type")) or "", ("", None))
        text = text_in(delta.get(field))
        if not text or kind is None:
            return None
        if kind != "toolCall":  # half of a call is none
            (self._text if kind == "text" else self._thinking).add(text)
        return ev.Delta(at=at, kind=kind, text=text)

    def add_block(self, record: dict[str, Any]) -> None:
        """Add a whole block, in place of its pieces."""
        self.parts += parts_in(object_in(record.get("message")))
        self._thinking, self._text = StreamedText(), StreamedText()
        self.is_aborted = record.get("aborted") is True
        if record.get("is_api_error_message") is True:
            self.error = "\n".join(part.text for part in self.parts if isinstance(part, ev.TextPart))

    def add_end(self, event: dict[str, Any]) -> None:
        """Add what comes after the last block."""
        self.stop_reason = text_in(object_in(event.get("delta")).get("stop_reason"))
        self.usage |= object_in(event.get("usage"))

    def take_blocks(self, at: int) -> ev.Message | None:
        """The blocks so far as a message, if there are any; the rest, with the usage, will be another."""
        parts, self.parts = tuple(self.parts), []
        return ev.Message(at=at, role="assistant", parts=parts, model=self.model) if parts else None

    def message(self, at: int) -> ev.Message | None:
        """All that is left, if there is anything; of a message that broke off, also the pieces."""
        pieces = (ev.ThinkingPart(str(self._thinking)), ev.TextPart(str(self._text)))
        parts = (*self.parts, *(part for part in pieces if part.text))
        if not parts and not self.usage:
            return None
        broke_off = self.is_aborted or not self.is_over
        stop_reason = "aborted" if broke_off else _STOP_REASONS.get(self.stop_reason or "", "stop")
        about: dict[str, Any] = {"model": self.model, "stop_reason": stop_reason, "usage": self.tokens}
        return ev.Message(at=at, role="assistant", parts=parts, **about)

    @property
    def tokens(self) -> Usage:
        """The usage so far."""
        return usage_in(self.usage)
