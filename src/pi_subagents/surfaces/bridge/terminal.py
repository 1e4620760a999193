"""pi's terminal, over the wire: its dialogs, and screens whose rows the bridge fills and whose keys come back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count

import msgspec

from pi_subagents.surfaces.bridge.handshake import Params, Refusal
from pi_subagents.surfaces.bridge.peer import HungUp, Peer
from pi_subagents.surfaces.bridge.views import pieces
from pi_subagents.text import Line
from pi_subagents.text.harmless import clean
from pi_subagents.wizard import Cancelled, Level

_USUAL_HEIGHT = 16
_USUAL_COLUMNS = 78


class PiDialogs:
    """What the wizard asks the person in front of pi."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def select(self, title: str, options: Sequence[str], *, initial: str | None = None) -> str | None:
        """One of the options. pi begins with the first, so that is where the usual answer goes."""
        shown = {clean(option): option for option in sorted(options, key=lambda option: option != initial)}
        answer = await self._ask("dialog/select", {"title": title, "options": list(shown)})
        return shown.get(answer) if isinstance(answer, str) else None

    async def confirm(self, title: str, message: str) -> bool:
        """Yes or no."""
        return await self._ask("dialog/confirm", {"title": title, "message": message}) is True

    async def input(self, title: str, placeholder: str = "", *, initial: str = "", enter: str = "skips") -> str | None:
        """A line; where something stands there already, in pi's editor, which can begin with it."""
        if initial:
            text = await self.editor(title, initial)
            return None if text is None else " ".join(text.split("\n")).strip()
        answer = await self._ask("dialog/input", {"title": title, "placeholder": placeholder})
        return answer if isinstance(answer, str) else None

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """A text."""
        answer = await self._ask("dialog/editor", {"title": title, "text": prefill})
        return answer if isinstance(answer, str) else None

    async def notify(self, message: str, level: Level = "info") -> None:
        """Tell the person something."""
        self._peer.notify("ui/notify", {"message": message, "level": level})

    async def _ask(self, method: str, params: Params) -> object:
        try:
            answer: object = await self._peer.request(method, params)
        except (HungUp, Refusal) as gone:
            raise Cancelled from gone
        return answer


class ScreenEvent(msgspec.Struct, frozen=True):
    """Something that happened to a screen."""

    screen: str | int
    key: str = ""
    height: int | None = None
    columns: int | None = None


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
            async with asyncio.timeout(within_s):
                return await self._keys.get()
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

    @contextmanager
    def new(self) -> Iterator[PiScreen]:
        """One more, not shown yet; it hears of its keys until the block ends."""
        screen = PiScreen(self._peer, next(self._numbers))
        self._open[screen.id] = screen
        try:
            yield screen
        finally:
            del self._open[screen.id]

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
