"""Finding the agent program, in the documented order of places."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pi_subagents.errors import AgentNotFound

PI_VARIABLE = "PI_SUBAGENTS_PI"


@dataclass(frozen=True, slots=True)
class Program:
    """A command line to start `pi` with, and which of the places it came from."""

    argv: tuple[str, ...]
    found_in: str


def find_pi(setting: str | Sequence[str] | None, environ: Mapping[str, str], data_dir: Path) -> Program:
    """The first `pi` of the four places; raises AgentNotFound.

    What a setting or the variable names is taken as it is, even if it does not exist: falling through to another
    program would hide the mistake.
    """
    if setting:
        return _named(setting, "setting subagents.piCommand")
    if value := environ.get(PI_VARIABLE):
        return _named(value, f"variable {PI_VARIABLE}")
    if path := shutil.which("pi", path=environ.get("PATH", os.defpath)):
        return Program((path,), "PATH")
    installed = data_dir / "bin" / "pi"
    if os.access(installed, os.X_OK):
        return Program((str(installed),), "install-pi")
    raise AgentNotFound(
        "The pi coding agent was not found. Looked at: the setting subagents.piCommand, "
        f"the variable {PI_VARIABLE}, pi on the PATH, and {installed}. "
        "Run: pi-subagents install-pi"
    )


def _named(command: str | Sequence[str], source: str) -> Program:
    return Program(_words(command, source), source)


def child_path(environ: Mapping[str, str], data_dir: Path) -> str:
    """The PATH for agents: the caller's, with the programs `install-pi` brought (rg) at its end."""
    return os.pathsep.join(part for part in (environ.get("PATH", os.defpath), str(data_dir / "bin")) if part)


def _words(command: str | Sequence[str], source: str) -> tuple[str, ...]:
    if not isinstance(command, str):
        return tuple(command)
    # A path with spaces in it is one word if there is such a file.
    path = Path(command).expanduser()
    if path.is_file():
        return (str(path),)
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise AgentNotFound(f"The {source} is no command line ({error}): {command}") from None
