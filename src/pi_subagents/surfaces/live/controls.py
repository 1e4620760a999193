"""What keys do to a view: which window is selected, whether it is expanded, and what is to be stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pi_subagents.surfaces.live.keys import Key

_SURPRISE_MS = 1000
"""When the selected one has ended, another is selected; a key that was meant for the first must not stop it."""


@dataclass(frozen=True, slots=True)
class Stop:
    """One run is to be stopped; without an id, all of them."""

    run_id: str | None = None


class Controls:
    """The state behind the keys."""

    def __init__(self) -> None:
        self.selected: str | None = None
        self.expanded = False
        self.asking = False
        self._position = 0
        self._moved_at_ms = -_SURPRISE_MS

    def settle(self, shown: Sequence[str], now_ms: int) -> None:
        """Select another one if the selected one has gone: the one that took its place."""
        if self.selected in shown:
            self._position = shown.index(self.selected)
            return
        if self.selected is not None:
            self._moved_at_ms = now_ms
        self._position = min(self._position, max(len(shown) - 1, 0))
        self.selected = shown[self._position] if shown else None
        self.expanded = False

    def press(self, key: Key, shown: Sequence[str], now_ms: int) -> Stop | None:
        """Take a key; returns what is to be stopped, for all of them only when asked a second time."""
        self.settle(shown, now_ms)
        asked, self.asking = self.asking, False
        if asked and key in (Key.QUIT, Key.YES):
            return Stop()
        if key is Key.QUIT:
            self.asking = True
        elif key is Key.EXPAND:
            self.expanded = not self.expanded
        elif key is Key.STOP and self.selected is not None and now_ms - self._moved_at_ms >= _SURPRISE_MS:
            return Stop(self.selected)
        elif key in (Key.UP, Key.DOWN) and shown:
            self._select(shown, 1 if key is Key.DOWN else -1)
        return None

    def _select(self, shown: Sequence[str], step: int) -> None:
        self._position = (self._position + step) % len(shown)
        self.selected = shown[self._position]
