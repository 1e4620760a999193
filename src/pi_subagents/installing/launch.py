"""What a client must run to start our server, and with which variables."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pi_subagents.harness.pi.programs import PI_VARIABLE
from pi_subagents.paths import AGENT_DIR_VARIABLES, directory_named_by

PROGRAM = "pi-subagents"
ARGUMENT = "mcp"

_DIRECTORY_VARIABLES = (*AGENT_DIR_VARIABLES, "PI_SUBAGENTS_DATA_DIR")
VARIABLES = (*_DIRECTORY_VARIABLES, PI_VARIABLE)
"""Those that decide which pi is started and where it keeps what it knows; none of them is a secret."""


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """A command line and the variables it needs."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


SHARED_LAUNCH = ServerCommand(PROGRAM, (ARGUMENT,))
"""For files that others get too: their installation is elsewhere, and so are their directories."""


def find_launch(environ: Mapping[str, str]) -> ServerCommand:
    """This installation, by its path: a client may have another PATH than the shell."""
    env = {name: _absolute(name, environ[name]) for name in VARIABLES if environ.get(name)}
    # Beside the interpreter, not beside what it is a link to: that one knows nothing of this environment.
    beside = Path(sys.executable).absolute().with_name(PROGRAM)
    program = str(beside) if os.access(beside, os.X_OK) else shutil.which(PROGRAM, path=environ.get("PATH"))
    if program is None:
        # -P: the directory that the client happens to be in is no place to look for our modules.
        return ServerCommand(sys.executable, ("-P", "-m", "pi_subagents", ARGUMENT), env)
    return ServerCommand(str(Path(program).absolute()), (ARGUMENT,), env)


def _absolute(name: str, value: str) -> str:
    return str(directory_named_by(name, value)) if name in _DIRECTORY_VARIABLES else value
