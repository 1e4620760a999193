"""What a message consists of."""

from __future__ import annotations

from typing import Any

import msgspec


class _Part(msgspec.Struct, frozen=True, rename="camel", tag_field="type", omit_defaults=True):
    """Something that a message consists of."""


class TextPart(_Part, frozen=True, tag="text"):
    text: str


class ThinkingPart(_Part, frozen=True, tag="thinking"):
    text: str


class ToolCallPart(_Part, frozen=True, tag="toolCall"):
    id: str
    name: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)
    is_guessed: bool = False
    """The agent did not report the arguments; these are what else it revealed."""


class NestedCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that a tool made of another one, such as a script that the agent wrote."""

    name: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)
    status: str = "ok"
    duration_ms: int | None = None


class ImagePart(_Part, frozen=True, tag="image"):
    """An image's place in the conversation; its data stays in the agent's own session file."""

    mime_type: str = ""
    size: int = 0


class OtherPart(_Part, frozen=True, tag="other"):
    """Stands for a part of a kind that only another version knows."""

    kind: str


Part = TextPart | ThinkingPart | ToolCallPart | ImagePart | OtherPart

LIMIT = "limit"
"""The stop reason of the last message of an agent that reached its turn or cost limit."""
