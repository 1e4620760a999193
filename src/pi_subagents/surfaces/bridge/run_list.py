"""`/subagents`: the runs of this project, live; each can be read, steered and stopped."""

from __future__ import annotations

import asyncio

from pi_subagents.clock import now_ms
from pi_subagents.place import Place
from pi_subagents.progress import header_segments
from pi_subagents.runs.roster import Roster, WatchedRun
from pi_subagents.surfaces.bridge.actions import steer, stop
from pi_subagents.surfaces.bridge.dialogs import PiDialogs
from pi_subagents.surfaces.bridge.reader import Transcript, read_run
from pi_subagents.surfaces.bridge.screens import PiScreen, Screens
from pi_subagents.text import Line, Style, clean, plain

TITLE = "Sub-agents"
_NOTHING = "No sub-agents have run in this project yet."
_HINTS: Line = [(Style.DIM, "↑↓ choose • enter read • x stop • s steer • esc close")]
_TICK_S = 0.5
_MAX_CHOICES = 20
_READ, _STOP, _STEER = "Read what it said and did", "Stop it", "Send it a message"
_NOTIFIED_LINES = 40


async def show_runs(place: Place, screens: Screens, dialogs: PiDialogs) -> None:
    """Show the list until the person closes it; where there is no terminal, ask with dialogs."""
    roster = Roster(place, place.project)
    await _look(roster, [])
    screen = screens.new()
    try:
        runs = _RunList(roster, screen, dialogs)
        runs.rows()
        await _look(roster, runs.visible)
        if await screen.open(TITLE, runs.rows(), _HINTS):
            await runs.run()
            screen.close()
            return
    finally:
        screens.forget(screen)
    await _ask(roster, dialogs)


async def _look(roster: Roster, visible: list[WatchedRun]) -> None:
    roster.apply(await asyncio.to_thread(roster.look, visible))


class _RunList:
    """The list on a screen; what is chosen stays chosen when others come and go."""

    def __init__(self, roster: Roster, screen: PiScreen, dialogs: PiDialogs) -> None:
        self._roster = roster
        self._screen = screen
        self._dialogs = dialogs
        self._chosen: str | None = None
        self._top = 0
        self.visible: list[WatchedRun] = []

    async def run(self) -> None:
        while True:
            self._screen.show(TITLE, self.rows(), _HINTS)
            key = await self._screen.key(_TICK_S)
            if key is None or key in ("escape", "q", "ctrl+c"):
                return
            if not await self._obey(key):
                return
            await _look(self._roster, self.visible)

    async def _obey(self, key: str) -> bool:
        """Do what a key means; False if the screen was closed meanwhile."""
        runs = self._roster.runs
        if not runs:
            return True
        at = self._at()
        steps = {"up": -1, "down": 1, "pageup": -self._page, "pagedown": self._page, "home": -at, "end": len(runs)}
        if key in steps:
            self._chosen = runs[min(max(at + steps[key], 0), len(runs) - 1)].session_id
        elif key in ("enter", "return"):
            return await read_run(runs[at].run_dir, _title(runs[at]), self._screen)
        elif key == "x":
            await stop(runs[at], self._dialogs)
        elif key == "s":
            await steer(runs[at], self._dialogs)
        return True

    @property
    def _page(self) -> int:
        return max(self._screen.height, 1)

    def _at(self) -> int:
        ids = [run.session_id for run in self._roster.runs]
        return ids.index(self._chosen) if self._chosen in ids else 0

    def rows(self) -> list[Line]:
        """As many runs as fit, the chosen one among them."""
        runs = self._roster.runs
        if not runs:
            return [[(Style.MUTED, _NOTHING)]]
        at = self._at()
        self._chosen = runs[at].session_id
        self._top = min(max(self._top, at - self._page + 1), at, max(len(runs) - self._page, 0))
        self.visible = runs[self._top : self._top + self._page]
        return [_row(run, self._screen.columns, is_chosen=run is runs[at]) for run in self.visible]


def _row(run: WatchedRun, columns: int, *, is_chosen: bool) -> Line:
    mark = (Style.ACCENT, "▸ ") if is_chosen else (Style.TEXT, "  ")
    words: Line = [(Style.DIM, " • "), *run.words] if plain(run.words) else []
    return [mark, *header_segments(run.window, now_ms(), width=columns - 2), *words]


def _title(run: WatchedRun) -> str:
    return f"{' '.join(clean(run.state.name).split()) or '(unnamed)'} • session {run.session_id}"


# --- without a terminal --------------------------------------------------------------------------------------


async def _ask(roster: Roster, dialogs: PiDialogs) -> None:
    if not roster.runs:
        await dialogs.notify(_NOTHING)
        return
    choices = {f"{plain(header_segments(run.window, now_ms()))} [{run.session_id}]": run for run in roster.runs}
    choice = await dialogs.select(TITLE, list(choices)[:_MAX_CHOICES])
    if choice is None:
        return
    run = choices[choice]
    action = await dialogs.select(_title(run), [_READ, *([_STOP, _STEER] if run.is_active else [])])
    if action == _READ:
        transcript = Transcript(run.run_dir)
        await asyncio.to_thread(transcript.look)
        lines = transcript.text.split("\n")
        await dialogs.notify("\n".join(lines[-_NOTIFIED_LINES:]))
    elif action == _STOP:
        await stop(run, dialogs)
    elif action == _STEER:
        await steer(run, dialogs)
