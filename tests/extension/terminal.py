"""The real pi in a real terminal, with a person who types."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pi_subagents.harness.pi.programs import PI_VARIABLE
from tests.pi.stage import Stage
from tests.surfaces.live.tmux import Terminal

_RULE = "─" * 20
_SWALLOWED_S = 5.0
_TELLS = """import { writeFileSync } from "node:fs";
export default (pi: any) => pi.on("session_start", () => writeFileSync(%s, ""));
"""


class PiTerminal:
    """What is on the screen of a pi, and what can be typed into it."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.press = terminal.press
        self.screen = terminal.screen
        self.until_shown = terminal.until_shown

    def say(self, line: str) -> None:
        """Type into the editor and send it; with a menu open pi does not take it at once."""
        self.type(line)
        self.terminal.until(lambda: not self._is_kept(line), "the line is sent")

    def _is_kept(self, line: str) -> bool:
        """Whether a line is still in the editor; if so, it is sent, and pi gets the time to act on it.

        A second Enter goes to whatever the first has opened, so there is none while the first may only be slow.
        """
        deadline = time.monotonic() + _SWALLOWED_S
        if line in self._editor():
            self.press("Enter")
        while line in self._editor() and time.monotonic() < deadline:
            time.sleep(0.02)
        return line in self._editor()

    def type(self, text: str) -> None:
        """Type into what has the keyboard."""
        self.terminal.press("-l", text)
        self.until_shown(text)

    def answer(self, question: str, *keys: str) -> str:
        """Wait for a dialog, then press keys; returns the screen with the dialog."""
        screen = self.until_shown(question)
        self.press(*keys)
        return screen

    def until_gone(self, text: str) -> str:
        """Wait until a text is no longer on the screen; returns the screen."""
        return self.terminal.until_screen(lambda screen: text not in screen, f"{text!r} is gone")

    def _editor(self) -> str:
        lines = self.screen().splitlines()
        rules = [index for index, line in enumerate(lines) if line.startswith(_RULE)]
        return "\n".join(lines[rules[-2] : rules[-1]]) if len(rules) > 1 else ""


@contextmanager
def open_pi(stage: Stage, columns: int, rows: int, *arguments: str) -> Iterator[PiTerminal]:
    """A terminal with pi in it, ready for the first line."""
    programs = stage.agent_dir / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("fd", "rg"):  # without them pi's first lines are about them
        _write_program(programs / name)
    # While pi starts, it shows what is typed, but refuses to take it.
    ready, tells = stage.root / "ready", stage.root / "tells.ts"
    ready.unlink(missing_ok=True)
    tells.write_text(_TELLS % json.dumps(str(ready)))
    terminal = Terminal(stage.project, stage.environ, columns, rows)
    try:
        terminal.type(" ".join([stage.environ[PI_VARIABLE], "--extension", str(tells), *arguments]))
        terminal.until(ready.exists, "pi has started")
        terminal.until_shown("scripted")
        yield PiTerminal(terminal)
    finally:
        terminal.close()


def _write_program(path: Path) -> None:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
