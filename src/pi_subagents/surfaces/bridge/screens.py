"""Screens in pi's terminal: rows that the bridge fills, and keys that come back."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count

from pi_subagents.surfaces.bridge.messages import Params, Refusal
from pi_subagents.surfaces.bridge.parameters import ScreenEvent
from pi_subagents.surfaces.bridge.peer import Peer
from pi_subagents.surfaces.bridge.views import pieces
from pi_subagents.text import Line

_USUAL_HEIGHT = 16
_USUAL_COLUMNS = 78


class PiScreen:
    """One screen; it scrolls by itself, so that it never has more rows than fit."""

    def __init__(self, peer: Peer, number: int) -> None:
        self.height, self.columns = _USUAL_HEIGHT, _USUAL_COLUMNS
        self._peer = peer
        self.id = number
        self._keys: asyncio.Queue[str | None] = asyncio.Queue()
        self._shown: Params = {}

    async def open(self, title: str, rows: list[Line], hints: Line) -> bool:
        """Show it; False where pi has no terminal."""
        self._shown = _content(title, rows, hints)
        with suppress(Refusal):
            answer = await self._peer.request("screen/open", {"screen": self.id, **self._shown})
            if isinstance(answer, dict):
                self._resize(answer.get("rows"), answer.get("columns"))
            elif not isinstance(answer, bool):
                self._resize(answer, None)
            return bool(answer)
        return False

    def show(self, title: str, rows: list[Line], hints: Line) -> None:
        """Other rows; the same ones again cost nothing."""
        shown = _content(title, rows, hints)
        if shown != self._shown:
            self._shown = shown
            self._peer.notify("screen/rows", {"screen": self.id, **shown})

    async def key(self, within_s: float) -> str | None:
        """The next key; empty if there is none in time, None when the screen has been closed."""
        try:
            return await asyncio.wait_for(self._keys.get(), within_s)
        except TimeoutError:
            return ""

    def close(self) -> None:
        """Give the terminal back."""
        self._peer.notify("screen/close", {"screen": self.id})

    def take(self, event: ScreenEvent) -> None:
        """A key was pressed, or the terminal has another size."""
        self._resize(event.height, event.columns)
        self._keys.put_nowait(event.key.lower())

    def end(self) -> None:
        """The person has closed it."""
        self._keys.put_nowait(None)

    def _resize(self, height: object, columns: object) -> None:
        if isinstance(height, int) and height > 0:
            self.height = height
        if isinstance(columns, int) and columns > 0:
            self.columns = columns


def _content(title: str, rows: list[Line], hints: Line) -> Params:
    return {"title": title, "rows": [pieces(row) for row in rows], "hints": pieces(hints)}


class Screens:
    """All screens that are open."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._numbers = count(1)
        self._open: dict[str | int, PiScreen] = {}

    def new(self) -> PiScreen:
        """One more, not shown yet."""
        screen = PiScreen(self._peer, next(self._numbers))
        self._open[screen.id] = screen
        return screen

    def forget(self, screen: PiScreen) -> None:
        """It is closed for good."""
        self._open.pop(screen.id, None)

    def take_key(self, event: ScreenEvent) -> None:
        """Something happened to a screen."""
        if screen := self._open.get(event.screen):
            screen.take(event)

    def take_end(self, event: ScreenEvent) -> None:
        """A screen was closed by the person, or with the conversation."""
        if screen := self._open.get(event.screen):
            screen.end()

    def close(self) -> None:
        """The other side is gone, and no key will come."""
        for screen in self._open.values():
            screen.end()
