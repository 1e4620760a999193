"""How a run stands, in a word: its state, and whether its record can be believed.

People are told of an end in the words of the record, `completed`, `failed` and `aborted`, on every surface whose words
are our own; the tools and the line above their windows in pi have those of their reference.
"""

from __future__ import annotations

from pi_subagents.models import Status

_ICONS = {Status.QUEUED: "·", Status.RUNNING: "⏳", Status.COMPLETED: "✓", Status.FAILED: "✗", Status.ABORTED: "✗"}

FATES = (Status.RUNNING, Status.COMPLETED, Status.FAILED, Status.ABORTED)
"""In the order in which they are counted; an end that only another version knows follows by its own name."""


def fate(status: Status) -> Status:
    """What is counted and chosen by: `running` until a run is over, also while it waits, then how it ended."""
    return status if status.is_terminal else Status.RUNNING


def status_icon(status: Status) -> str:
    """`✓`, `✗` …; `?` for a state that only another version knows."""
    return _ICONS.get(status, "?")


def standing(status: Status, is_damaged: bool) -> str:
    """`completed`, `completed, damaged`."""
    return f"{status}, damaged" if is_damaged else str(status)


def unusual_standing(status: Status, is_damaged: bool) -> str:
    """What an icon cannot say: nothing, `damaged`, or the word of another version."""
    if status not in _ICONS:
        return standing(status, is_damaged)
    return "damaged" if is_damaged else ""
