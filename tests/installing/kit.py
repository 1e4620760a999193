"""A user with a home and a project, and what installations there look like."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from pi_subagents.installing import CLIENTS, Change, Installation, Scope, ServerCommand, install, uninstall
from pi_subagents.place import Place

LAUNCH = ServerCommand("/opt/tools/bin/pi-subagents", ("mcp",), {"PI_AGENT_DIR": "/data/agent"})


@dataclass
class User:
    """Somebody with an empty home and an empty project."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    launch: ServerCommand = LAUNCH

    def __post_init__(self) -> None:
        self.home.mkdir()
        os.environ["HOME"] = str(self.home)  # every test gets its own back
        self.project.mkdir()

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "project"

    def installation(self, client: str = "claude", scope: Scope = "user") -> Installation:
        return Installation(
            CLIENTS[client], scope, Place(self.project, self.home / ".pi" / "agent", self.environ), self.launch
        )

    def install(self, client: str = "claude", scope: Scope = "user") -> Change:
        return install(self.installation(client, scope))

    def uninstall(self, client: str = "claude", scope: Scope = "user") -> Change:
        return uninstall(self.installation(client, scope))

    def files(self) -> dict[str, bytes]:
        """Everything there is, by its path."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }
