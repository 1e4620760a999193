"""What keys do to a view: which window is selected, whether it is expanded, and what is to be stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pi_subagents.surfaces.live.keys import Key


@dataclass(frozen=True, slots=True)
class Stop:
    """One run is to be stopped; without an id, all of them."""

    run_id: str | None = None


class Controls:
    """The state behind the keys. `question` is what will be stopped if the answer is yes."""

    def __init__(self) -> None:
        self.selected: str | None = None
        self.expanded = False
        self.question: Stop | None = None
        self._position = 0

    def settle(self, shown: Sequence[str]) -> None:
        """Select another one if the selected one has gone: the one that took its place."""
        if self.question is not None and self.question.run_id not in (None, *shown):
            self.question = None  # it has ended by itself
        if self.selected in shown:
            self._position = shown.index(self.selected)
            return
        self._position = min(self._position, max(len(shown) - 1, 0))
        self.selected = shown[self._position] if shown else None
        self.expanded = False

    def press(self, key: Key, shown: Sequence[str]) -> Stop | None:
        """Take a key; returns what is to be stopped once that was asked and answered with yes or the same key."""
        self.settle(shown)
        asked, self.question = self.question, None
        if asked is not None and key in (Key.YES, Key.QUIT if asked.run_id is None else Key.STOP):
            return asked
        if key is Key.QUIT:
            self.question = Stop()
        elif key is Key.EXPAND:
            self.expanded = not self.expanded
        elif key is Key.STOP and self.selected is not None:
            self.question = Stop(self.selected)
        elif key in (Key.UP, Key.DOWN) and shown:
            self._select(shown, 1 if key is Key.DOWN else -1)
        return None

    def _select(self, shown: Sequence[str], step: int) -> None:
        self._position = (self._position + step) % len(shown)
        self.selected = shown[self._position]
