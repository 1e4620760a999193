"""What all checks look at: the place, its settings, and the `pi` that would be started there."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness.pi.programs import Program, child_path, find_pi
from pi_subagents.paths import AGENT_DIR_VARIABLES, data_dir, home_dir, runs_dir
from pi_subagents.place import Place
from pi_subagents.processes.query import Answer, ask
from pi_subagents.settings import Settings


@dataclass(frozen=True)
class Situation:
    """A place as sub-agents would find it; `program` is None, and `problem` says why, when there is no `pi`."""

    place: Place
    settings: Settings
    data: Path
    program: Program | None
    problem: str = ""
    environ: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def at(cls, place: Place) -> Situation:
        """Look around without starting anything."""
        settings = place.settings()
        data = data_dir(place.environ)
        program, problem = None, ""
        try:
            program = find_pi(settings.pi_command, place.environ, data)
        except AgentNotFound as error:
            problem = str(error)
        return cls(place, settings, data, program, problem, _environ(place, data))

    @property
    def path(self) -> str:
        """The PATH that sub-agents get."""
        return self.environ["PATH"]

    @property
    def runs_dir(self) -> Path:
        """Where this project's records are or would be."""
        return runs_dir(self.place.project)

    def ask_pi(self, option: str, *, timeout_s: float, agent_dir: Path | None = None) -> Answer:
        """Start `pi` with one option; it must have been found."""
        assert self.program is not None
        own = dict.fromkeys(AGENT_DIR_VARIABLES, str(agent_dir or self.place.agent_dir))
        environ = {**self.environ, **own}
        return ask([*self.program.argv, option], environ=environ, timeout_s=timeout_s, cwd=self.place.cwd)


def _environ(place: Place, data: Path) -> dict[str, str]:
    # A diagnosis is quick and the same with and without a network, so pi is told to stay at home.
    quiet = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}
    return {**place.environ, **quiet, "PATH": child_path(place.environ, data)}


def tilde(path: Path) -> str:
    """A path as people write it, with ~ for their home."""
    try:
        return str("~" / path.relative_to(home_dir()))
    except ValueError:
        return str(path)


def shell_word(path: Path) -> str:
    """A path as it can be pasted into a command, whatever it is called."""
    shown = tilde(path)
    rest = shown.removeprefix("~")  # in quotes it would not stand for anybody's home
    return shown if shlex.quote(rest) == rest else shlex.quote(str(path))


def nearest_existing(path: Path) -> Path:
    """`path`, or the closest thing above it that is there; a file in the way is found too."""
    return next(entry for entry in (path, *path.parents) if entry.exists())
