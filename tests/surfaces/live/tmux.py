"""A real terminal for tests: tmux on a socket of its own, with a shell in it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pi_subagents
from tests.kit.waiting import PATIENCE_S, until

_PACKAGE_HOME = Path(pi_subagents.__file__).parents[1]
PROMPT = "ready {}> "
"""With the number of the line that the shell waits for: a prompt from before a command is not one after it."""
_LINE_NUMBER = r"\#"


class Terminal:
    """A shell in tmux. Lines are what `capture-pane` shows: without trailing spaces, wrapped as on the screen."""

    def __init__(self, folder: Path, environ: Mapping[str, str], columns: int, rows: int) -> None:
        # The path of a socket must be short; that of a test's folder is not.
        self._lines = 0
        self._socket = f"/tmp/pi-subagents-test-{os.getpid()}-{id(self):x}"
        shell = f"PS1={shlex.quote(PROMPT.format(_LINE_NUMBER))} exec bash --norc --noprofile -i"
        variables = {
            **{name: value for name, value in environ.items() if name not in ("TMUX", "NO_COLOR")},
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(_PACKAGE_HOME),
            "HISTFILE": "",
        }
        # Every session would inherit the test's variables anyway; what it shall not have is left out here.
        size = ("-x", str(columns), "-y", str(rows))
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(folder), shell, environ=variables)
        self.until_prompt()

    def close(self) -> None:
        """End the shell and tmux."""
        self._tmux("kill-server", check=False)
        Path(self._socket).unlink(missing_ok=True)

    def run(self, *arguments: str, redirect: str = "", before: str = "") -> None:
        """Type a `pi-subagents` command."""
        command = shlex.join([sys.executable, "-m", "pi_subagents", *arguments])
        self.type(f"{before}{command}{redirect}")

    def type(self, line: str, *, clear: bool = True) -> None:
        """Type a line at the shell, without showing it: only what a program prints is looked at."""
        self._tmux("send-keys", "-l", f"clear; {line}" if clear else line)
        self.press("Enter")
        self._lines += 1

    def enter(self, text: str) -> None:
        """Type a line for a program that asks for one."""
        self._tmux("send-keys", "-l", text)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press keys, named as tmux names them."""
        self._tmux("send-keys", *keys)

    def resize(self, columns: int, rows: int) -> None:
        """Resize the terminal at one go."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self) -> str:
        """What is visible."""
        return self._tmux("capture-pane", "-p")

    def everything(self) -> str:
        """What is visible and what has scrolled away, with lines put together that are only wrapped."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-")

    def painted(self) -> str:
        """What is visible, with escapes for colours."""
        return self._tmux("capture-pane", "-p", "-e")

    def cursor_is_visible(self) -> bool:
        return self._tmux("display-message", "-p", "#{cursor_flag}").strip() == "1"

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until something is so."""
        until(condition, what, self.screen)

    def until_screen(self, is_wanted: Callable[[str], bool], what: str) -> str:
        """The first screen that is as wanted."""
        return until(lambda: screen if is_wanted(screen := self.screen()) else "", what, self.screen)

    def until_shown(self, *texts: str) -> str:
        """The first screen that has all these texts."""
        return self.until_screen(lambda screen: all(text in screen for text in texts), f"{texts} on the screen")

    def until_prompt(self) -> str:
        """Wait until the shell has done everything typed and asks for the next command; returns everything."""
        prompt = PROMPT.format(self._lines + 1).strip()
        return until(
            lambda: everything if (everything := self.everything()).rstrip().endswith(prompt) else "",
            "the shell is back",
            self.screen,
        )

    def _tmux(self, *arguments: str, environ: Mapping[str, str] | None = None, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-S", self._socket, *arguments],
            env=dict(environ) if environ is not None else None,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout
