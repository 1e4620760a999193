"""What a host must be able to ask a person; the names are those of pi's own dialogs.

An answer of None is Esc. To end everything at once, a host raises Cancelled from any dialog; nothing has been written
then, because only the last answer of a wizard writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

Level = Literal["info", "warning", "error"]

CANCELLED = "Cancelled. Nothing was changed."


class Cancelled(Exception):  # noqa: N818 - the person's decision, not a fault
    """The person left before the last question."""


class Dialogs(Protocol):
    """A host's widgets; one that cannot show what is to be chosen first, or how to answer by default, ignores it."""

    async def select(self, title: str, options: Sequence[str], *, initial: str | None = None) -> str | None:
        """One of the options; Enter takes `initial`, else the first."""
        ...

    async def confirm(self, title: str, message: str) -> bool:
        """Yes or no; Esc is no."""
        ...

    async def input(self, title: str, placeholder: str = "", *, initial: str = "", enter: str = "skips") -> str | None:
        """A line of text; `initial` stands in the field already and is the answer unless it is changed.

        `enter` is what Enter does in an empty field, for hosts that say so.

        pi's `input` begins empty whatever it is told: where there is an `initial`, its `editor` does what is meant.
        """
        ...

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """A text of several lines."""
        ...

    async def notify(self, message: str, level: Level = "info") -> None:
        """Tell the person something."""
        ...
