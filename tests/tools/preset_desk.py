"""A project with presets whose agents are stand-ins: the task is the script that they play."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.testing import MODELS_VARIABLE, SCRIPTED_AGENT
from pi_subagents.tools import Progress, ToolContext, ToolResult, Update, call_tool
from pi_subagents.trust import Decisions
from tests.kit.waiting import PATIENCE_S

WAIT_S = PATIENCE_S
OnUpdate = Callable[[dict[str, Any]], None]
MODELS = ("acme/large", "acme/small", "zoo/small", "zoo/tiger")


class PresetDesk:
    """Where a test puts presets, and from where it calls tools."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.agent_dir = root / "agent"
        (self.project / ".pi").mkdir(parents=True)
        Decisions(self.agent_dir).trust(self.project)
        self.environ = {
            "PATH": "/usr/bin:/bin",
            "PI_AGENT_DIR": str(self.agent_dir),
            MODELS_VARIABLE: " ".join(MODELS),
            **dict([SCRIPTED_AGENT]),
        }

    @property
    def place(self) -> Place:
        return Place.here(self.project, self.environ)

    @property
    def runs(self) -> list[Path]:
        """The directories of all runs."""
        folder = runs_dir(self.project)
        return sorted(path for path in folder.glob("[0-9]*")) if folder.exists() else []

    def preset(self, name: str, *fields: str, body: str = "", scope: str = "project") -> Path:
        folder = (self.agent_dir if scope == "global" else self.project / ".pi") / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.md"
        path.write_text("\n".join(["---", f"name: {name}", f"description: About {name}.", *fields, "---", body]))
        return path

    def settings(self, **subagents: object) -> None:
        (self.project / ".pi" / "settings.json").write_text(json.dumps({"subagents": subagents}))

    def meta(self, run: Path) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((run / "meta.json").read_bytes())
        return document

    async def subagent(self, on_update: OnUpdate | None = None, **arguments: Any) -> ToolResult:
        return await self.call("subagent", on_update, **arguments)

    async def call(self, tool: str, on_update: OnUpdate | None = None, **arguments: Any) -> ToolResult:
        def take(progress: Progress) -> None:
            if on_update is not None and isinstance(progress, Update):
                on_update(progress.details())

        async with asyncio.timeout(WAIT_S):
            return await call_tool(tool, arguments, ToolContext(self.place, take))
