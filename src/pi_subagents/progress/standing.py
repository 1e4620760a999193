"""How a run stands, in a word: its state, and whether its record can be believed."""

from __future__ import annotations

from pi_subagents.models import Status

_ICONS = {Status.QUEUED: "·", Status.RUNNING: "⏳", Status.COMPLETED: "✓", Status.FAILED: "✗", Status.ABORTED: "✗"}


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
