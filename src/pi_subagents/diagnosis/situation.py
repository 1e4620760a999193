"""What all checks look at: the place, its settings, and the harness with which agents would be started there."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from pi_subagents.harness import Harness, Inspection, harness_named
from pi_subagents.paths import runs_dir, tilde
from pi_subagents.place import Place
from pi_subagents.processes.query import ask
from pi_subagents.settings import Settings


@dataclass(frozen=True)
class Situation:
    """A place as sub-agents would find it."""

    place: Place
    settings: Settings
    harness: Harness

    @classmethod
    def at(cls, place: Place, harness: Harness | None = None) -> Situation:
        """Look around without starting anything; the harness is that of the settings, unless told otherwise."""
        settings = place.settings()
        return cls(place, settings, harness or harness_named(settings.harness_name))

    @property
    def inspection(self) -> Inspection:
        """The same for checks of a harness."""
        return Inspection(self.place, self.settings, ask)

    @property
    def runs_dir(self) -> Path:
        """Where this project's records are or would be."""
        return runs_dir(self.place.project)


def shell_word(path: Path) -> str:
    """A path as it can be pasted into a command, whatever it is called."""
    shown = tilde(path)
    rest = shown.removeprefix("~")  # in quotes it would not stand for anybody's home
    return shown if shlex.quote(rest) == rest else shlex.quote(str(path))


def nearest_existing(path: Path) -> Path:
    """`path`, or the closest thing above it that is there; a file in the way is found too."""
    return next(entry for entry in (path, *path.parents) if entry.exists())
