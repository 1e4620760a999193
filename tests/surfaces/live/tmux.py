"""A real terminal for tests: tmux on a socket of its own, with a shell in it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pi_subagents

_PACKAGE_HOME = Path(pi_subagents.__file__).parents[1]
_TMUX_S = 20.0
WAIT_S = 60.0
"""Far beyond what anything here takes, even on a busy machine."""
PROMPT = "ready> "


class Terminal:
    """A shell in tmux. Lines are what `capture-pane` shows: without trailing spaces, wrapped as on the screen."""

    def __init__(self, folder: Path, environ: Mapping[str, str], columns: int, rows: int) -> None:
        # The path of a socket must be short; that of a test's folder is not.
        self._socket = f"/tmp/pi-subagents-test-{os.getpid()}-{id(self):x}"
        shell = f"PS1={shlex.quote(PROMPT)} exec bash --norc --noprofile -i"
        variables = {
            **{name: value for name, value in environ.items() if name not in ("TMUX", "NO_COLOR")},
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(_PACKAGE_HOME),
            "HISTFILE": "",
        }
        # Every session would inherit the test's variables anyway; what it shall not have is left out here.
        size = ("-x", str(columns), "-y", str(rows))
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(folder), shell, environ=variables)
        self.until(lambda: PROMPT.strip() in self.screen(), "the shell starts")

    def close(self) -> None:
        """End the shell and tmux."""
        self._tmux("kill-server", check=False)
        Path(self._socket).unlink(missing_ok=True)

    def run(self, *arguments: str, redirect: str = "", before: str = "") -> None:
        """Type a `pi-subagents` command."""
        command = shlex.join([sys.executable, "-m", "pi_subagents", *arguments])
        self.type(f"{before}{command}{redirect}")

    def type(self, line: str) -> None:
        """Type a line at the shell, without showing it: only what a program prints is looked at."""
        self._tmux("send-keys", "-l", "clear; " + line)
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
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain until {what}; the screen:\n{self.screen()}"
            time.sleep(0.05)

    def until_shown(self, text: str) -> str:
        """Wait until a text is on the screen; returns the screen."""
        self.until(lambda: text in self.screen(), f"{text!r} is shown")
        return self.screen()

    def until_prompt(self) -> str:
        """Wait until the shell asks for the next command; returns everything."""
        self.until(lambda: self.screen().rstrip().endswith(PROMPT.strip()), "the shell is back")
        return self.everything()

    def _tmux(self, *arguments: str, environ: Mapping[str, str] | None = None, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-S", self._socket, *arguments],
            env=dict(environ) if environ is not None else None,
            capture_output=True,
            encoding="utf-8",
            timeout=_TMUX_S,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout
