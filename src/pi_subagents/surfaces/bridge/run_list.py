"""`/subagents`: the runs of this project, live; each can be read, steered and stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from pi_subagents.clock import now_ms
from pi_subagents.errors import PiSubagentsError, StoreError, with_advice
from pi_subagents.export.transcripts import session_transcript
from pi_subagents.fold import RunState, fold
from pi_subagents.place import Place
from pi_subagents.progress import header_segments
from pi_subagents.runs.live import RunFollower
from pi_subagents.runs.roster import Roster, WatchedRun
from pi_subagents.runs.run import Run
from pi_subagents.runs.sessions import MAX_RUNS_IN_MEMORY, Session
from pi_subagents.surfaces.bridge.terminal import PiDialogs, PiScreen, Screens
from pi_subagents.text import Line, Style, clean, plain, wrap

TITLE = "Sub-agents"
_NOTHING = "No sub-agents have run in this project yet."
_LIST_HINTS: Line = [(Style.DIM, "↑↓ choose • enter read • x stop • s steer • esc close")]
_TEXT_HINTS: Line = [(Style.DIM, "↑↓ scroll • esc back")]
_TICK_S = 0.5
_MAX_CHOICES = 20
_READ, _STOP, _STEER = "Read what it said and did", "Stop it", "Send it a message"
_NOTIFIED_LINES = 40
_MAX_CHARACTERS = 200_000
"""What is wrapped anew, whenever something is added to it, without holding anybody up."""
_STYLES = {"→ ": Style.MUTED, "[tool result]": Style.DIM, "[Error": Style.ERROR, "=== ": Style.TITLE, "---": Style.DIM}


async def show_runs(place: Place, screens: Screens, dialogs: PiDialogs) -> None:
    """Show the list until the person closes it; where there is no terminal, ask with dialogs."""
    roster = Roster(place, place.project)
    await _look(roster, [])
    with screens.new() as screen:
        runs = _RunList(roster, screen, dialogs)
        runs.rows()
        await _look(roster, runs.visible)
        if await screen.open(TITLE, runs.rows(), _LIST_HINTS):
            await runs.run()
            screen.close()
            return
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
            self._screen.show(TITLE, self.rows(), _LIST_HINTS)
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
            return await _read_on(self._screen, runs[at])
        elif key == "x":
            await _stop(runs[at], self._dialogs)
        elif key == "s":
            await _steer(runs[at], self._dialogs)
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


async def _ask(roster: Roster, dialogs: PiDialogs) -> None:
    """The same without a terminal: one run, and one thing to do with it."""
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
        await _stop(run, dialogs)
    elif action == _STEER:
        await _steer(run, dialogs)


def _name(run: WatchedRun) -> str:
    return " ".join(clean(run.state.name).split()) or "(unnamed)"


def _title(run: WatchedRun) -> str:
    return f"{_name(run)} • session {run.session_id}"


# --- what can be done with a run; the person is told what came of it -------------------------------------------


async def _stop(run: WatchedRun, dialogs: PiDialogs) -> None:
    """Ask whether to stop the run, and do so."""
    name = f"“{_name(run)}”"
    if not run.is_active:
        await dialogs.notify(f"{name} has already ended.")
    elif await dialogs.confirm(f"Stop {name}?", "What it has said and done so far is kept."):
        await asyncio.to_thread(run.run.stop)
        await dialogs.notify(f"{name} was asked to stop.")


async def _steer(run: WatchedRun, dialogs: PiDialogs) -> None:
    """Ask for a word to the agent at work, and pass it on."""
    name = f"“{_name(run)}”"
    if not run.is_active:
        await dialogs.notify(f"{name} has already ended; a task with its session id as resume continues it.")
        return
    try:
        if problem := run.run.why_not_steered():
            raise problem
        text = await dialogs.input(f"Tell {name}", "It reads this before its next turn")
        if text and text.strip():
            await asyncio.to_thread(run.run.steer, text)
            await dialogs.notify(f"{name} reads it before its next turn, if there is one.")
    except PiSubagentsError as error:
        await dialogs.notify(with_advice(error), "warning")


async def _read_on(screen: PiScreen, run: WatchedRun) -> bool:
    """Show a session until the person goes back; False if the whole screen was closed."""
    transcript, view = Transcript(run.run_dir), _Scroll(screen)
    while True:
        if await asyncio.to_thread(transcript.look):
            view.fill(transcript.text)
        screen.show(_title(run), view.rows(), _TEXT_HINTS)
        key = await screen.key(_TICK_S)
        if key is None:
            return False
        if key in ("escape", "q", "left"):
            return True
        view.move(key)
        if key == "resize":
            view.fill(transcript.text)


class Transcript:
    """All that was said and done in a session, growing while its last run works; `look` is for a thread."""

    def __init__(self, run_dir: Path) -> None:
        self._follower = RunFollower(run_dir)
        self._state = RunState.of_run(run_dir.name)
        self._earlier: list[RunState] | None = None
        self._number = 1
        self.text = ""

    def look(self) -> bool:
        """Read what is new; whether there was anything."""
        if self._earlier is None:
            session = Session.of(Run(self._follower.run_dir, self._state))
            before = list(takewhile(lambda folder: folder.name != self._follower.run_dir.name, session.run_dirs))
            self._earlier = list(_load(before[-MAX_RUNS_IN_MEMORY:]))
            self._number = len(before) + 1
        try:
            is_new = self._read()
            while not self._follower.at_end and not self._follower.ended:
                is_new |= self._read()
        except StoreError as error:
            self.text = str(error)
            return True
        if is_new:
            self.text = _end_of(session_transcript([*self._earlier, self._state], self._number))
        return is_new

    def _read(self) -> bool:
        events = self._follower.look()
        fold(self._state, events)
        return bool(events)


def _load(folders: list[Path]) -> Iterator[RunState]:
    for folder in folders:
        with suppress(StoreError):
            yield Run.load(folder).state


def _end_of(text: str) -> str:
    if len(text) <= _MAX_CHARACTERS:
        return text
    left_out = len(text) - _MAX_CHARACTERS
    return f"[… {left_out:,} characters before this: 'pi-subagents sessions show' shows them …]\n{text[left_out:]}"


class _Scroll:
    """A part of a long text; at its end it stays at the end."""

    def __init__(self, screen: PiScreen) -> None:
        self._screen = screen
        self._lines: list[Line] = []
        self._top: int | None = None

    def fill(self, text: str) -> None:
        """The whole text."""
        columns = self._screen.columns
        self._lines = [line for said in clean(text, keep_newlines=True).split("\n") for line in _wrapped(said, columns)]

    def rows(self) -> list[Line]:
        """The part that is seen."""
        last = max(len(self._lines) - self._screen.height, 0)
        top = last if self._top is None else min(self._top, last)
        return self._lines[top : top + self._screen.height] or [[(Style.DIM, "(nothing yet)")]]

    def move(self, key: str) -> None:
        """Go where a key leads."""
        page, last = max(self._screen.height - 1, 1), max(len(self._lines) - self._screen.height, 0)
        top = last if self._top is None else self._top
        steps = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "space": page, "home": -top, "end": last}
        if key in steps:
            top = max(top + steps[key], 0)
            self._top = None if top >= last else top


def _wrapped(text: str, columns: int) -> Iterator[Line]:
    style = next((style for start, style in _STYLES.items() if text.startswith(start)), Style.TEXT)
    for row in wrap(text, columns) or [""]:
        yield [(style, row)]
