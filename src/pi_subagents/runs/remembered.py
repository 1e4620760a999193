"""What somebody else knows of a session whose record is gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi_subagents.fold import RunState

Remembered = Callable[[str], Sequence[RunState]]
"""The runs of a session that somebody else knows of, oldest first."""


def nothing_remembered(_session_id: str) -> Sequence[RunState]:
    """What is known where nobody keeps a log."""
    return ()
