"""What all events have in common."""

from __future__ import annotations

from typing import Annotated

import msgspec

from pi_subagents.clock import LAST_MS

Time = Annotated[int, msgspec.Meta(ge=0, le=LAST_MS)]
"""Milliseconds since the epoch; 0 where the time is not known."""


class Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", omit_defaults=True, gc=False):
    """Base of all events."""

    at: Time = 0
