"""Reading one session on a screen: everything its agents said and did, growing while the last of them works."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from pi_subagents.errors import StoreError
from pi_subagents.export.transcripts import session_transcript
from pi_subagents.fold import RunState, fold
from pi_subagents.runs.following import RunFollower
from pi_subagents.runs.run import Run
from pi_subagents.runs.sessions import MAX_RUNS_IN_MEMORY, Session
from pi_subagents.surfaces.bridge.screens import PiScreen
from pi_subagents.text import Line, Style, clean, wrap

_HINTS: Line = [(Style.DIM, "↑↓ scroll • esc back")]
_TICK_S = 0.5
_MAX_CHARACTERS = 200_000
"""What is wrapped anew, whenever something is added to it, without holding anybody up."""
_STYLES = {"→ ": Style.MUTED, "[tool result]": Style.DIM, "[Error": Style.ERROR, "=== ": Style.TITLE, "---": Style.DIM}


class Transcript:
    """The text of a session; `look` is for a thread."""

    def __init__(self, run_dir: Path) -> None:
        self._follower = RunFollower(run_dir)
        self._state = RunState.of_run(run_dir.name)
        self._earlier: list[RunState] | None = None
        self._number = 1
        self.text = ""

    def look(self) -> bool:
        """Read what is new; whether there was anything."""
        if self._earlier is None:
            before = _runs_before(Run(self._follower.run_dir, self._state))
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


def _end_of(text: str) -> str:
    if len(text) <= _MAX_CHARACTERS:
        return text
    left_out = len(text) - _MAX_CHARACTERS
    return f"[… {left_out:,} characters before this: 'pi-subagents sessions show' shows them …]\n{text[left_out:]}"


def _runs_before(run: Run) -> list[Path]:
    return list(takewhile(lambda folder: folder.name != run.run_dir.name, Session.of(run).run_dirs))


def _load(folders: Iterable[Path]) -> Iterator[RunState]:
    for folder in folders:
        with suppress(StoreError):
            yield Run.load(folder).state


async def read_run(run_dir: Path, title: str, screen: PiScreen) -> bool:
    """Show a session until the person goes back; False if the whole screen was closed."""
    transcript, view = Transcript(run_dir), _Scroll(screen)
    while True:
        if await asyncio.to_thread(transcript.look):
            view.fill(transcript.text)
        screen.show(clean(title), view.rows(), _HINTS)
        key = await screen.key(_TICK_S)
        if key is None:
            return False
        if key in ("escape", "q", "left"):
            return True
        view.move(key)
        if key == "resize":
            view.fill(transcript.text)


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
