"""A user with presets whose agents are stand-ins: a task is the script that its agent plays."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from pi_subagents.paths import runs_dir
from pi_subagents.store import is_held, list_runs, request_stop
from pi_subagents.testing import MODELS_VARIABLE, Action, answer, prints, script
from pi_subagents.testing.agent import touches, waits_for
from tests.kit.waiting import until
from tests.surfaces.cli.session_desk import TIMEOUT_S, Desk, Done

MODEL = "acme/large"


class BackgroundDesk(Desk):
    """The desk with two presets: `worker`, which can be steered, and `deaf`, which cannot."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        folder = self.project / ".pi" / "subagents"
        folder.mkdir()
        for name, field in (("worker", "harness: pi-rpc"), ("deaf", "harness: pi-json")):
            lines = ["---", f"name: {name}", "description: Works.", f"model: {MODEL}", field, "---", ""]
            (folder / f"{name}.md").write_text("\n".join(lines))

    @property
    def environ(self) -> dict[str, str]:
        return {**super().environ, MODELS_VARIABLE: MODEL}

    @property
    def run_dirs(self) -> list[Path]:
        return list_runs(runs_dir(self.project))

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
        for run_dir in self.run_dirs:
            self.until_over(run_dir)


def short(run_dir: Path) -> str:
    """What people see of a run's id."""
    return run_dir.name.rpartition("-")[2][:8]


def interrupt(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Press Ctrl+C; what was printed and said."""
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=TIMEOUT_S)
