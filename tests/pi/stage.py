"""A place in which the real pi works for a test: a project, an agent directory, and a model that plays a script."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pi_subagents import RunResult, Task
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.errors import AgentNotFound
from pi_subagents.harness import Program
from pi_subagents.harness.pi.programs import PI_VARIABLE, find_pi
from pi_subagents.offline import OfflineModel, Script, agent_environment
from pi_subagents.paths import data_dir
from pi_subagents.processes.install import PI_PACKAGE
from pi_subagents.processes.node import find_node
from pi_subagents.tools import ToolResult
from tests.kit import command
from tests.kit.processes import all_pids, command_line
from tests.kit.waiting import PATIENCE_S
from tests.kit.workplace import Workplace

# As the test run found them: every test hides the user's variables and home from itself.
_ENVIRON = dict(os.environ)
_DATA_DIR = data_dir(_ENVIRON)

WAIT_S = PATIENCE_S
"""Far beyond what anything here takes, even on a busy machine; a test that needs it has failed."""


def installed_pi() -> Program:
    """The pi that `./scripts/setup` brought, else the one the environment leads to; raises AgentNotFound."""
    launcher = _DATA_DIR / "bin" / "pi"
    if os.access(launcher, os.X_OK):
        return Program((str(launcher),), "install-pi")
    try:
        return find_pi(None, _ENVIRON)
    except AgentNotFound as error:
        raise AgentNotFound(f"These tests need the real pi: run ./scripts/setup. {error}") from None


def pi_of_version(version: str) -> Program:
    """The pi that `./scripts/setup` brought in that version, whichever is the one that is started."""
    node = find_node(_DATA_DIR)
    cli = _DATA_DIR / "pi" / version / "node_modules" / PI_PACKAGE / "dist" / "bundle" / "cli.js"
    if node is None or not cli.is_file():
        pytest.skip(f"pi {version} is not installed")
    return Program((str(node.binary), str(cli)), f"pi {version}")


@dataclass
class Stage(Workplace):
    """A workplace where `pi` talks to `model`, which must have been started."""

    pi: Program = field(kw_only=True)
    model: OfflineModel = field(kw_only=True)

    def __post_init__(self) -> None:
        self.model.write_agent_dir(self.agent_dir)
        super().__post_init__()

    def usual_environ(self) -> dict[str, str]:
        return {
            **os.environ,
            **agent_environment(self.agent_dir, os.environ),
            **command.PYTHON_VARIABLES,
            PI_VARIABLE: shlex.join(self.pi.argv),
            "PI_SUBAGENTS_DATA_DIR": str(_DATA_DIR),
        }

    def write_skill(self, name: str, body: str) -> None:
        """Write a skill of the user's."""
        text = f"---\nname: {name}\ndescription: About {name}.\n---\n{body}\n"
        self.write(str(self.agent_dir / "skills" / name / "SKILL.md"), text)

    def delegation(self, *tasks: Task, **options: Any) -> Delegation:
        """Tasks handed over from this place, not yet started."""
        return Delegation(tasks, place=self.place, **options)

    async def delegate(self, *tasks: Task, **options: Any) -> list[RunResult]:
        """Run tasks to their end; of many, some wait for the others."""
        async with asyncio.timeout(WAIT_S * max(1, len(tasks) // 4)):
            return await self.delegation(*tasks, **options)

    async def run(self, prompt: str = "Go.", **fields: Any) -> RunResult:
        """Run one task to its end."""
        (result,) = await self.delegate(Task("t", prompt, **fields))
        return result

    async def call(self, *tasks: dict[str, Any], **fields: Any) -> ToolResult:
        """Call `delegate_to_subagents` as a model would."""
        return await self.tool("delegate_to_subagents", tasks=list(tasks), **fields)


Play = Callable[[Script], Stage]


def prompts(stage: Stage) -> list[str]:
    """What the agents were asked, in order of arrival of their first requests."""
    return [request.first_user_text for request in stage.model.requests if request.step == 0]


def files_below(directory: Path) -> list[Path]:
    """Every file below a directory."""
    return sorted(path for path in directory.rglob("*") if path.is_file())


def processes_below(directory: Path) -> list[str]:
    """The command lines of everything that works in a directory or names it."""
    found = []
    for pid in all_pids():
        words = command_line(pid).replace(b"\0", b" ").decode("utf-8", "replace")
        with suppress(OSError):  # it ended meanwhile, or it is somebody else's
            cwd = Path(f"/proc/{pid}/cwd").readlink()
            if words and (cwd.is_relative_to(directory) or str(directory) in words):
                found.append(words)
    return found
