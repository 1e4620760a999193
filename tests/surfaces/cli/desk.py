"""A user with sessions on disk and two presets, who runs the command: in a pipe, in the background, or at a terminal.

Their agents are stand-ins: a task is the script that its agent plays.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pi_subagents.store import is_held, request_stop
from pi_subagents.testing import MODELS_VARIABLE, Action, answer, prints, script
from pi_subagents.testing.agent import touches, waits_for
from tests.kit import command
from tests.kit.waiting import PATIENCE_S, until
from tests.kit.workplace import Workplace
from tests.surfaces.cli.machine import Typist

TIMEOUT_S = PATIENCE_S
MODEL = "acme/large"


class Desk(Workplace):
    """A workplace with two presets: `worker`, which can be steered, and `deaf`, which cannot."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.environ[MODELS_VARIABLE] = MODEL
        for name, harness in (("worker", "pi-rpc"), ("deaf", "pi-json")):
            self.write(
                f".pi/subagents/{name}.md",
                f"---\nname: {name}\ndescription: Works.\nmodel: {MODEL}\nharness: {harness}\n---\n",
            )

    def run(
        self, *arguments: str, stdin: str = "", cwd: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> Done:
        """Run `sessions` with these arguments."""
        return self.call("sessions", *arguments, stdin=stdin, cwd=cwd, variables=variables)

    def call(
        self, *arguments: str, stdin: str = "", cwd: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> Done:
        """Run the command with these arguments."""
        done = self.command(*arguments, stdin=stdin, cwd=cwd, **(variables or {}))
        return Done(done.returncode, done.stdout, done.stderr)

    def at_terminal(
        self, *arguments: str, columns: int = 120, typed: str = "", variables: Mapping[str, str] | None = None
    ) -> Done:
        """Run `sessions` at a terminal of that width; what it prints on both channels is one text."""
        person = Typist(self, "sessions", *arguments, columns=columns, **(variables or {}))
        return Done(person.answer(*typed.splitlines()), person.screen, "")

    def background(self, *arguments: str, stdin: str = "") -> Done:
        """Run `background` with these arguments."""
        return self.call("background", *arguments, stdin=stdin)

    def launch(self, *actions: Action, preset: str = "worker") -> Path:
        """Start a script in the background; its run directory."""
        done = self.background("start", preset, script(*actions), "--json")
        assert done.exit_code == 0, done.err
        return Path(done.json()["run"]["paths"]["runDir"])

    def launch_patient(self, preset: str = "worker", word: str = "go") -> Path:
        """Start an agent that is at work now and answers when it is told to go on."""
        ready, go = self.root / f"{word} ready", self.root / word
        run_dir = self.launch(touches(ready), waits_for(go), prints(*answer("Done at last.")), preset=preset)
        until(ready.exists, "the agent is at work")
        return run_dir

    def go(self, word: str = "go") -> None:
        """Let a patient agent go on."""
        (self.root / word).touch()

    def until_over(self, run_dir: Path) -> None:
        """Wait until nobody holds a run any more."""
        until(lambda: not is_held(run_dir), "the run is over")

    def close(self) -> None:
        """Stop whatever still runs."""
        for run_dir in self.run_dirs:
            if is_held(run_dir):
                request_stop(run_dir, "the test is over")
        self.shelf.close()
        for run_dir in self.run_dirs:
            self.until_over(run_dir)
        super().close()

    def complete(self, *words: str) -> list[str]:
        """What zsh is told when Tab is pressed behind these words."""
        done = self.call(variables=command.completing(*words))
        assert done.err == ""
        return done.out.splitlines()


class Done:
    """How a command ended."""

    def __init__(self, exit_code: int, out: str, err: str) -> None:
        self.exit_code = exit_code
        self.out = out
        self.err = err

    def json(self) -> Any:
        return json.loads(self.out)


def short(run_dir: Path) -> str:
    """What people see of a run's id."""
    return run_dir.name.rpartition("-")[2][:8]


def interrupt(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Press Ctrl+C; what was printed and said."""
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=TIMEOUT_S)
