"""What keys do to a view: which window is selected, whether it is expanded, and what is to be stopped."""

from __future__ import annotations

from collections.abc import Sequence

from pi_subagents.surfaces.live.keys import Key

_SURPRISE_MS = 1000
"""When the selected one has ended, another is selected; a key that was meant for the first must not stop it."""


class Controls:
    """The state behind the keys. `press` says what to stop; everything else it keeps."""

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

    def press(self, key: Key, shown: Sequence[str], now_ms: int) -> Sequence[str]:
        """Take a key; returns which of the shown ones are to be stopped. All of them are asked for once more."""
        self.settle(shown, now_ms)
        asked, self.asking = self.asking, False
        if asked and key in (Key.QUIT, Key.YES):
            return shown
        if key is Key.QUIT:
            self.asking = True
        elif key is Key.EXPAND:
            self.expanded = not self.expanded
        elif key is Key.STOP and self.selected is not None and now_ms - self._moved_at_ms >= _SURPRISE_MS:
            return [self.selected]
        elif key in (Key.UP, Key.DOWN) and shown:
            self._select(shown, 1 if key is Key.DOWN else -1)
        return []

    def _select(self, shown: Sequence[str], step: int) -> None:
        self._position = (self._position + step) % len(shown)
        self.selected = shown[self._position]
