"""A project with sessions on disk and the full screen in front of it, driven with keys."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from textual.pilot import Pilot, WaitForScreenTimeout
from textual.screen import Screen
from textual.widget import Widget

from pi_subagents.place import Place
from pi_subagents.surfaces.watch import WatchApp
from pi_subagents.surfaces.watch.blocks import Fold
from pi_subagents.testing import SCRIPTED_AGENT
from tests.kit.sessions import Shelf
from tests.kit.waiting import PATIENCE_S, until_async

WIDE, NARROW, LARGE = (140, 40), (80, 24), (200, 60)
_ASKED_ANEW_S = 2.0


class Bench:
    """Two projects of one user; agents are scripted."""

    def __init__(self, root: Path) -> None:
        self.agent_dir = root / "agent"
        self.tea = self._shelf(root / "tea-shop")
        self.parser = self._shelf(root / "parser")
        self.place = Place.here(
            self.tea.project,
            {"PATH": os.environ["PATH"], "PI_AGENT_DIR": str(self.agent_dir), **dict([SCRIPTED_AGENT])},
        )

    def _shelf(self, project: Path) -> Shelf:
        (project / ".pi").mkdir(parents=True)
        return Shelf(project, self.agent_dir)

    def close(self) -> None:
        self.tea.close()
        self.parser.close()


@dataclass
class Eyes:
    """Somebody at the screen."""

    app: WatchApp
    pilot: Pilot[None]

    @property
    def screen(self) -> str:
        """What is on it, line by line."""
        # There is no public way to read a screen as text.
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    @property
    def list_text(self) -> str:
        """The part of the screen with the runs."""
        region = self.app.list.parent.region if self.app.list.parent else self.app.list.region  # type: ignore[attr-defined]
        lines = self.screen.split("\n")[region.y : region.bottom]
        return "\n".join(line[: region.right] for line in lines)

    @property
    def conversation_text(self) -> str:
        """The part of the screen with the conversation."""
        region = self.app.conversation.region
        return "\n".join(line[region.x :] for line in self.screen.split("\n")[region.y : region.bottom])

    @property
    def names(self) -> list[str]:
        """The runs in the list, from the top."""
        return [run.state.name for run in self.app.list.runs]

    @property
    def chosen(self) -> str:
        return self.app.list.chosen.state.name if self.app.list.chosen else ""

    @property
    def folds(self) -> list[Fold]:
        """The blocks that can be unfolded."""
        return list(self.app.query(Fold))

    @property
    def notices(self) -> list[str]:
        """What was said in the corner."""
        return [notification.message for notification in self.app._notifications]

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def reach(self, key: str, kind: type[Widget]) -> None:
        """Press a key that leads to another widget, and wait until it has the focus: the next key is for it."""
        await self.press(key)
        await self.until(lambda: isinstance(self.app.focused, kind), f"a {kind.__name__} has the focus")

    async def resize(self, size: tuple[int, int]) -> None:
        await self.pilot.resize_terminal(*size)
        await self.until(lambda: self.app.size == size, f"the size is {size}")

    async def until(self, condition: Callable[[], object], what: str = "") -> None:
        """Wait for something that happens by itself."""
        await until_async(condition, what, lambda: self.screen, self.pilot.pause)

    async def until_names(self, *names: str) -> None:
        await self.until(lambda: self.names == list(names), f"the list is {names}")

    async def until_chosen(self, name: str) -> None:
        await self.until(lambda: self.chosen == name, f"{name!r} is chosen")

    async def until_noticed(self, text: str) -> None:
        await self.until(lambda: any(text in notice for notice in self.notices), f"{text!r} in the corner")

    async def until_closed(self, kind: type[Screen[Any]]) -> None:
        await self.until(lambda: not isinstance(self.app.screen, kind), f"no {kind.__name__}")

    async def until_seen(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.screen for text in texts), f"{texts} on the screen")

    async def until_listed(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.list_text for text in texts), f"{texts} in the list")

    async def until_told(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.conversation_text for text in texts), f"{texts} in the conversation")

    async def until_gone(self, text: str) -> None:
        await self.until(lambda: text not in self.conversation_text, f"{text!r} gone from the conversation")


@asynccontextmanager
async def watching(bench: Bench, size: tuple[int, int] = WIDE, project: Path | None = None) -> AsyncIterator[Eyes]:
    """The program, once it has looked at the disk for the first time."""
    app = WatchApp(bench.place, project)
    async with app.run_test(size=size) as pilot:
        pilot._wait_for_screen = partial(_wait_for_screen, pilot._wait_for_screen)  # type: ignore[method-assign]
        eyes = Eyes(app, pilot)
        await eyes.until(lambda: app.has_looked, "the first look")
        await pilot.pause()
        yield eyes


async def _wait_for_screen(wait: Callable[[float], Awaitable[bool]], _timeout_s: float = 0) -> bool:
    """Wait until every widget has answered; one that was removed meanwhile never does, so they are asked anew."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await wait(_ASKED_ANEW_S)
        except WaitForScreenTimeout:
            if time.monotonic() > deadline:
                raise
