"""A place in which the real pi works for a test: a project, an agent directory, and a model that plays a script."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import pi_subagents
from pi_subagents import RunResult, Task
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.delegation.program_facts import VERSIONS_FILE, ProgramVersion
from pi_subagents.errors import AgentNotFound
from pi_subagents.harness import Program
from pi_subagents.harness.pi.pi import Pi
from pi_subagents.harness.pi.programs import PI_VARIABLE, find_pi
from pi_subagents.offline import OfflineModel, Script, agent_environment
from pi_subagents.paths import data_dir, runs_dir
from pi_subagents.place import Place
from pi_subagents.processes.install import PI_PACKAGE, find_node
from pi_subagents.store import list_runs
from pi_subagents.tools import ToolContext, ToolResult, call_tool
from pi_subagents.trust import Decisions
from tests.kit.waiting import PATIENCE_S

# As the test run found them: every test hides the user's variables and home from itself.
_ENVIRON = dict(os.environ)
_DATA_DIR = data_dir(_ENVIRON)
_PACKAGE_HOME = Path(pi_subagents.__file__).parents[1]

_VERSIONS: dict[Program, bytes] = {}
"""What was remembered of each pi when it was first asked."""

WAIT_S = PATIENCE_S
"""Far beyond what anything here takes, even on a busy machine; a test that needs it has failed."""


def installed_pi() -> Program:
    """The pi that `./scripts/setup` brought, else the one the environment leads to; raises AgentNotFound."""
    launcher = _DATA_DIR / "bin" / "pi"
    if os.access(launcher, os.X_OK):
        return Program((str(launcher),), "install-pi")
    try:
        return find_pi(None, _ENVIRON, _DATA_DIR)
    except AgentNotFound as error:
        raise AgentNotFound(f"These tests need the real pi: run ./scripts/setup. {error}") from None


def pi_of_version(version: str) -> Program:
    """The pi that `./scripts/setup` brought in that version, whichever is the one that is started."""
    node = find_node(_DATA_DIR)
    cli = _DATA_DIR / "pi" / version / "node_modules" / PI_PACKAGE / "dist" / "bundle" / "cli.js"
    if node is None or not cli.is_file():
        pytest.skip(f"pi {version} is not installed")
    return Program((str(node.binary), str(cli)), f"pi {version}")


@dataclass(frozen=True)
class Stage:
    """Everything a test arranges and looks at."""

    root: Path
    project: Path
    agent_dir: Path
    environ: dict[str, str]
    model: OfflineModel

    @classmethod
    def build(cls, root: Path, pi: Program, model: OfflineModel) -> Stage:
        """Make the directories; the model must have been started."""
        project = root / "project"
        (project / ".pi").mkdir(parents=True)
        agent_dir = model.write_agent_dir(root / "agent")
        Decisions(agent_dir).trust(project)
        environ = {
            **os.environ,
            **agent_environment(agent_dir, os.environ),
            PI_VARIABLE: shlex.join(pi.argv),
            "PI_SUBAGENTS_DATA_DIR": str(_DATA_DIR),
        }
        stage = cls(root, project, agent_dir, environ, model)
        stage._remember_version(pi)
        return stage

    def _remember_version(self, pi: Program) -> None:
        """Know the version of pi as a user's second run does: to ask it costs as much as a run."""
        file = self.agent_dir / "subagents" / VERSIONS_FILE
        if pi in _VERSIONS:
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(_VERSIONS[pi])
        elif ProgramVersion(Pi().version_question(pi, self.place), self.place).value is not None:
            _VERSIONS[pi] = file.read_bytes()

    @property
    def place(self) -> Place:
        return Place.here(self.project, self.environ)

    @property
    def run_dirs(self) -> list[Path]:
        """The directories of all runs so far, oldest first."""
        return list_runs(runs_dir(self.project))

    def write_profile(self, name: str, *fields: str, body: str = "") -> None:
        """Write a profile of the project; each field is a line of its frontmatter."""
        self.write(f".pi/agent-profiles/{name}.md", "\n".join(["---", f"name: {name}", *fields, "---", body]))

    def write_skill(self, name: str, body: str) -> None:
        """Write a skill of the user's."""
        path = self.agent_dir / "skills" / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: {name}\ndescription: About {name}.\n---\n{body}\n")

    def write_settings(self, **subagents: object) -> None:
        """Write the project's settings."""
        self.write(".pi/settings.json", json.dumps({"subagents": subagents}))

    def write(self, path: str, text: str) -> Path:
        """Write a file of the project."""
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

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
        async with asyncio.timeout(WAIT_S):
            arguments = {"tasks": list(tasks), **fields}
            return await call_tool("delegate_to_subagents", arguments, ToolContext(self.place))

    def start_command(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        """Start `pi-subagents` in the project."""
        return subprocess.Popen(
            [sys.executable, "-m", "pi_subagents", *arguments],
            cwd=self.project,
            env={**self.environ, "PYTHONPATH": str(_PACKAGE_HOME), "PYTHONIOENCODING": "utf-8"},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def command(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run `pi-subagents` in the project to its end."""
        with self.start_command(*arguments, stdin=subprocess.PIPE) as process:
            try:
                output, errors = process.communicate(stdin, WAIT_S)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


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
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = process.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            cwd = process.joinpath("cwd").readlink()
        except OSError:  # it ended meanwhile, or it is somebody else's
            continue
        if command and (cwd.is_relative_to(directory) or str(directory) in command):
            found.append(command)
    return found
