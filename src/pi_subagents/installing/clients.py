"""The clients we know: where each keeps its servers, what an entry looks like there, and what it must run."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pi_subagents.harness.pi.programs import PI_VARIABLE
from pi_subagents.installing.formats import Format
from pi_subagents.installing.jsonc import Jsonc
from pi_subagents.installing.toml import Toml
from pi_subagents.paths import AGENT_DIR_VARIABLES, directory_named_by, home_dir
from pi_subagents.place import Place

Scope = Literal["user", "project"]
SERVER_NAME = "pi-subagents"

_CALL_TIMEOUT_S = 24 * 60 * 60
"""Runs have time limits of their own; a client's must not come first."""

_START_TIMEOUT_S = 30
"""A cold Python on a busy machine needs more than the ten seconds that codex waits."""

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
    env = {name: environ[name] for name in VARIABLES if environ.get(name)}
    env |= {name: str(directory_named_by(name, env[name])) for name in _DIRECTORY_VARIABLES if name in env}
    # Beside the interpreter, not beside what it is a link to: that one knows nothing of this environment.
    beside = Path(sys.executable).absolute().with_name(PROGRAM)
    program = str(beside) if os.access(beside, os.X_OK) else shutil.which(PROGRAM, path=environ.get("PATH"))
    if program is None:
        # -P: the directory that the client happens to be in is no place to look for our modules.
        return ServerCommand(sys.executable, ("-P", "-m", "pi_subagents", ARGUMENT), env)
    return ServerCommand(str(Path(program).absolute()), (ARGUMENT,), env)


@dataclass(frozen=True, slots=True)
class Location:
    """Files below a directory: the one that a variable names, else `default`. The first is made if there is none."""

    files: tuple[str, ...]
    variable: str = ""
    default: str = "."

    def paths(self, base: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """The files, with `base` for the directory that `default` begins in; raises SettingsError."""
        named = environ.get(self.variable, "")
        folder = directory_named_by(self.variable, named) if named else base / self.default
        return tuple(folder / file for file in self.files)


@dataclass(frozen=True, slots=True)
class Client:
    """A program that can start MCP servers."""

    name: str
    title: str
    locations: Mapping[Scope, Location]
    table: str
    entry: Callable[[ServerCommand, Scope], dict[str, Any]]
    file_format: Format = field(default_factory=Jsonc)
    hints: Mapping[Scope, tuple[str, ...]] = field(default_factory=dict)
    program: str = ""
    """What it is called on the PATH, if not by its name here."""

    def paths(self, scope: Scope, place: Place) -> tuple[Path, ...]:
        """The files in which servers of that scope can stand; raises SettingsError."""
        base = home_dir() if scope == "user" else place.project
        return self.locations[scope].paths(base, place.environ)

    def is_present(self, place: Place) -> bool:
        """Whether the user seems to have it: its program is on the PATH, or a directory or file of its own is there."""
        if shutil.which(self.program or self.name, path=place.environ.get("PATH")):
            return True
        paths = self.paths("user", place)
        return any(path.exists() or (path.parent != home_dir() and path.parent.is_dir()) for path in paths)


def generic_entry(launch: ServerCommand) -> dict[str, Any]:
    """What most clients understand."""
    entry: dict[str, Any] = {"command": launch.command, "args": list(launch.args)}
    if launch.env:
        entry["env"] = dict(launch.env)
    return entry


def _stdio(launch: ServerCommand, _scope: Scope) -> dict[str, Any]:
    return {"type": "stdio", **generic_entry(launch)}


def _gemini(launch: ServerCommand, _scope: Scope) -> dict[str, Any]:
    return {**generic_entry(launch), "timeout": _CALL_TIMEOUT_S * 1000}


def _opencode(launch: ServerCommand, _scope: Scope) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "local", "command": [launch.command, *launch.args], "enabled": True}
    if launch.env:
        entry["environment"] = dict(launch.env)
    return {**entry, "timeout": _CALL_TIMEOUT_S * 1000}


def _codex(launch: ServerCommand, scope: Scope) -> dict[str, Any]:
    # codex passes servers a handful of variables only, and others where it is told their names.
    names = {"env_vars": list(VARIABLES)} if scope == "project" else {}
    limits = {"startup_timeout_sec": _START_TIMEOUT_S, "tool_timeout_sec": _CALL_TIMEOUT_S}
    return {**generic_entry(launch), **limits, **names}


_CODEX_APPROVAL = (
    "codex asks before it calls a tool; to let it call these without asking, add "
    'default_tools_approval_mode = "approve" to the same table'
)
_APPLICATIONS = ("", "Library/Application Support") if sys.platform == "darwin" else ("XDG_CONFIG_HOME", ".config")

CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client(
            "claude",
            "Claude Code",
            {"user": Location((".claude.json",), "CLAUDE_CONFIG_DIR"), "project": Location((".mcp.json",))},
            "mcpServers",
            _stdio,
            hints={"project": ("Claude Code asks everyone once whether to use the servers in .mcp.json",)},
        ),
        Client(
            "codex",
            "Codex",
            {"user": Location(("config.toml",), "CODEX_HOME", ".codex"), "project": Location((".codex/config.toml",))},
            "mcp_servers",
            _codex,
            Toml(),
            hints={
                "user": (
                    "codex hides keys in variables from servers; if pi needs one, add "
                    'env_vars = ["NAME"] to the same table',
                    _CODEX_APPROVAL,
                ),
                "project": ("codex reads the file once you trust the project", _CODEX_APPROVAL),
            },
        ),
        Client(
            "opencode",
            "opencode",
            {
                "user": Location(("opencode/opencode.json", "opencode/opencode.jsonc"), "XDG_CONFIG_HOME", ".config"),
                "project": Location(("opencode.json", "opencode.jsonc")),
            },
            "mcp",
            _opencode,
        ),
        Client(
            "cursor",
            "Cursor",
            {"user": Location((".cursor/mcp.json",)), "project": Location((".cursor/mcp.json",))},
            "mcpServers",
            _stdio,
        ),
        Client(
            "vscode",
            "VS Code",
            {"user": Location(("Code/User/mcp.json",), *_APPLICATIONS), "project": Location((".vscode/mcp.json",))},
            "servers",
            _stdio,
            program="code",
        ),
        Client(
            "gemini",
            "Gemini CLI",
            {
                "user": Location((".gemini/settings.json",), "GEMINI_CLI_HOME"),
                "project": Location((".gemini/settings.json",)),
            },
            "mcpServers",
            _gemini,
        ),
    )
}
