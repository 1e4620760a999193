"""Where a test has agents work: a trusted project, an agent directory, an environment, and the command run there.

Agents are stand-ins whose task is the script that they play (`pi_subagents.testing`); in `tests/pi/stage.py` they are
the real pi. Whatever is started here carries a mark in its environment, by which it is found from outside.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pi_subagents.delegation.program_facts import program_version, remember_namespace, usable_harness
from pi_subagents.errors import AgentNotFound
from pi_subagents.harness import DEFAULT_HARNESS, harness_named
from pi_subagents.harness.pi.programs import PI_VARIABLE
from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.settings import Settings
from pi_subagents.store import list_runs
from pi_subagents.testing import SCRIPTED_AGENT
from pi_subagents.tools import ToolContext, ToolResult, call_tool
from pi_subagents.trust import Decisions
from tests.kit import command, processes
from tests.kit.sessions import Shelf
from tests.kit.waiting import PATIENCE_S

MARK_VARIABLE = "TEST_MARK"

_FACTS: dict[tuple[str, str], dict[str, bytes]] = {}
"""The files in which an agent directory has what programs and this machine said of themselves, by what was asked."""


@dataclass
class Workplace:
    """One project of one user; `environ` is what programs find there, and can be changed at any time."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        (self.project / ".pi").mkdir(parents=True)
        self.home.mkdir(exist_ok=True)
        Decisions(self.agent_dir).trust(self.project)
        usual = self.usual_environ()
        self.environ = {**usual, MARK_VARIABLE: self.mark, **self.environ}
        self._remember_facts(usual)

    def usual_environ(self) -> dict[str, str]:
        """Nothing of whoever runs the tests but where programs are."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "PI_AGENT_DIR": str(self.agent_dir),
            **command.PYTHON_VARIABLES,
            **dict([SCRIPTED_AGENT]),
        }

    def _remember_facts(self, environ: Mapping[str, str]) -> None:
        """Know of the usual program, and of this machine, what a user's second run knows: to ask takes long."""
        folder = self.agent_dir / "subagents"
        asked = environ[PI_VARIABLE], environ["PATH"]
        if asked not in _FACTS:
            before = set(folder.iterdir())
            with suppress(AgentNotFound):
                _ask(Place.here(self.project, environ))
            _FACTS[asked] = {path.name: path.read_bytes() for path in set(folder.iterdir()) - before}
        for name, facts in _FACTS[asked].items():
            (folder / name).write_bytes(facts)

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def agent_dir(self) -> Path:
        return self.root / "agent"

    @property
    def place(self) -> Place:
        return Place.here(self.project, self.environ)

    @cached_property
    def shelf(self) -> Shelf:
        """For runs that are to be there already."""
        return Shelf(self.project, self.agent_dir)

    @property
    def runs(self) -> Path:
        return runs_dir(self.project)

    @property
    def run_dirs(self) -> list[Path]:
        """The directories of all runs so far, oldest first."""
        return list_runs(self.runs)

    # --- what the user writes ------------------------------------------------

    def write(self, path: str, text: str) -> Path:
        """Write a file of the project, or with an absolute path any other."""
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def write_profile(self, name: str, *fields: str, body: str = "", is_global: bool = False) -> Path:
        """Write a profile of the project, or of the user; each field is a line of its frontmatter."""
        folder = (self.agent_dir if is_global else self.project / ".pi") / "agent-profiles"
        return self._write_agent(folder, name, fields, body)

    def write_preset(self, name: str, *fields: str, body: str = "", is_global: bool = False) -> Path:
        """Write a preset of the project, or of the user."""
        folder = (self.agent_dir if is_global else self.project / ".pi") / "subagents"
        return self._write_agent(folder, name, (f"description: About {name}.", *fields), body)

    def _write_agent(self, folder: Path, name: str, fields: tuple[str, ...], body: str) -> Path:
        return self.write(str(folder / f"{name}.md"), "\n".join(["---", f"name: {name}", *fields, "---", body]))

    def write_settings(self, **subagents: object) -> None:
        """Write the project's settings."""
        self.write(".pi/settings.json", json.dumps({"subagents": subagents}))

    # --- what is called ------------------------------------------------------

    async def tool(self, name: str, *, context: ToolContext | None = None, **arguments: Any) -> ToolResult:
        """Call a tool as a model would."""
        async with asyncio.timeout(PATIENCE_S):
            return await call_tool(name, arguments, context or ToolContext(self.place))

    def command(self, *words: str, stdin: str = "", cwd: Path | None = None, **environ: str) -> command.Ended:
        """Run `pi-subagents` to its end."""
        return command.run(*words, cwd=cwd or self.project, environ={**self.environ, **environ}, stdin=stdin)

    def start_command(
        self, *words: str, stdin: int = subprocess.DEVNULL, cwd: Path | None = None, **environ: str
    ) -> subprocess.Popen[str]:
        """Start `pi-subagents` and leave it running; what it prints can be read from pipes."""
        pipe = subprocess.PIPE
        env = {**self.environ, **environ}
        streams: dict[str, Any] = {"stdin": stdin, "stdout": pipe, "stderr": pipe, "encoding": "utf-8"}
        return subprocess.Popen(command.argv(*words), cwd=cwd or self.project, env=env, **streams)

    def start(self, argv: list[str], environ: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """A program in the project; its output is nobody's business."""
        null, env = subprocess.DEVNULL, {**self.environ, **(environ or {})}
        return subprocess.Popen(argv, cwd=self.project, env=env, stdin=null, stdout=null, stderr=null)

    # --- who is there --------------------------------------------------------

    def processes(self) -> list[int]:
        """Everything alive that was started here, the wrappers around agents included."""
        return processes.pids_with(self.mark)

    def close(self) -> None:
        """Leave nothing to the next test."""
        self.shelf.close()
        processes.kill(*self.processes())


def _ask(place: Place) -> None:
    """Have everything said that is remembered; raises AgentNotFound."""
    remember_namespace("auto", place)
    harness = harness_named(DEFAULT_HARNESS)
    usable_harness(harness, place, Settings())
    program_version(harness.version_question(harness.find_program(place, Settings()), place), place)
