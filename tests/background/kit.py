"""A project from which background runs are launched, and eyes for everybody who takes part in them.

Agents carry the mark of their stage in the environment; keepers and queues carry another, which they inherit from
whoever launched the run.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pi_subagents.place import Place
from pi_subagents.runners import choose_mechanism
from pi_subagents.runs.background import Registry
from pi_subagents.store import BackgroundSlots
from pi_subagents.testing import MODELS_VARIABLE, Action, prints, script
from pi_subagents.testing.agent import pauses, touches
from pi_subagents.testing.records import AGENT_START
from pi_subagents.tools import ToolContext, ToolResult, call_tool
from tests.kit.processes import command_line, kill, open_files, parent_of, pids_with
from tests.kit.waiting import PATIENCE_S, until, until_async
from tests.process.kit import Stage, make_stage

KEEPER_MARK = "TEST_KEEPER_MARK"
WAIT_S = PATIENCE_S
PRESET = "worker"
MODEL = "acme/large"
BEGIN = prints(AGENT_START)
"""An agent that took its prompt and does not begin is stopped after a while."""
_REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Yard:
    """One project with a preset; `owner` is who launches and asks."""

    stage: Stage
    limit: int
    owner: str = "test"
    keeper_mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def environ(self) -> dict[str, str]:
        """What agents find in their environment."""
        return self.stage.full_environ({MODELS_VARIABLE: MODEL})

    @property
    def place(self) -> Place:
        return Place.here(self.stage.project, self.environ)

    @property
    def registry(self) -> Registry:
        return Registry(self.place, self.owner)

    @property
    def slots(self) -> BackgroundSlots:
        return BackgroundSlots(self.place.agent_dir, self.limit)

    def preset(self, name: str, *fields: str) -> None:
        """Write a preset; each field is a line of its frontmatter."""
        self.stage.write_preset(name, f"model: {MODEL}", *fields)

    # --- what a model does -------------------------------------------------------------------------------------

    async def call(self, tool: str, **arguments: Any) -> ToolResult:
        """Call one of the two tools."""
        async with asyncio.timeout(2 * WAIT_S):  # some wait so long themselves
            result = await call_tool(tool, arguments, ToolContext(self.place, owner=self.owner))
        assert not result.is_error, result.text
        return result

    async def launch(self, *actions: Action, preset: str = PRESET) -> Path:
        """Start a script in the background; returns its run directory."""
        result = await self.call("background_agent", preset=preset, task=script(BEGIN, *actions))
        return Path(result.details["run"]["paths"]["runDir"])

    async def launch_at_work(
        self, *actions: Action, then: Sequence[Action] = (pauses(300),), preset: str = PRESET
    ) -> Path:
        """The same, once the agent has done as far as `then`: before, a child about to become it holds the run too."""
        begun = self.stage.project.parent / f"begun-{uuid.uuid4().hex}"
        run_dir = await self.launch(*actions, touches(begun), *then, preset=preset)
        await until_async(begun.exists)
        return run_dir

    async def status(self, **arguments: Any) -> dict[str, Any]:
        """The details of a status call."""
        return (await self.call("background_agent_status", **arguments)).details

    async def row(self, run_dir: Path, **arguments: Any) -> dict[str, Any]:
        """The row of one run."""
        (row,) = (await self.status(runId=run_dir.name, **arguments))["runs"]
        return cast(dict[str, Any], row)

    async def see_the_end(self, run_dir: Path) -> dict[str, Any]:
        """Wait for the end of a run; returns its row."""
        row = await self.row(run_dir, wait_s=WAIT_S)
        assert row["completedAt"], "the run did not end"
        return row

    # --- who is there ------------------------------------------------------------------------------------------

    def keepers(self) -> list[int]:
        """The keepers at work."""
        return self._processes("pi_subagents.background.keeper")

    def queues(self) -> list[int]:
        """The queues, of whom there should be one at most."""
        return self._processes("pi_subagents.background.queue")

    def keeper_of(self, run_dir: Path) -> int | None:
        """The process that holds a run's lease, once it is a keeper."""
        return next((pid for pid in self.keepers() if str(run_dir) in open_files(pid)), None)

    def kill_keeper(self, run_dir: Path) -> None:
        """Kill the process that holds a run's lease, once it is a keeper."""
        kill(until(lambda: self.keeper_of(run_dir)) or 0)

    def kill_everybody(self) -> None:
        """As if the machine had lost its power: nobody gets a chance to tidy up."""
        until(lambda: not self._kill_those_who_are_there())  # again: one of them may have been starting another

    def _kill_those_who_are_there(self) -> list[int]:
        everybody = [*self.keepers(), *self.queues(), *self.stage.processes()]
        for pid in everybody:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        for pid in everybody:
            kill(pid)
        return everybody

    def _processes(self, module: str) -> list[int]:
        found = {pid for pid in pids_with(self.keeper_mark) if module.encode() in command_line(pid)}
        # What one of them has just forked looks like itself until it executes.
        return [pid for pid in found if parent_of(pid) not in found]

    # --- launchers of their own ----------------------------------------------------------------------------------

    def launch_by(self, launcher: subprocess.Popen[str], *actions: Action) -> Path:
        """Have a launcher start a script in the background; returns its run directory."""
        assert launcher.stdin is not None
        assert launcher.stdout is not None
        order = {"project": str(self.stage.project), "environ": self.environ, "owner": self.owner}
        launcher.stdin.write(json.dumps({**order, "preset": PRESET, "task": script(BEGIN, *actions)}) + "\n")
        launcher.stdin.flush()
        return Path(json.loads(launcher.stdout.readline())["paths"]["runDir"])

    @contextmanager
    def launcher(self, **options: Any) -> Iterator[subprocess.Popen[str]]:
        """A process that launches what it is told to."""
        environ = {**os.environ, KEEPER_MARK: self.keeper_mark}
        pipe = subprocess.PIPE
        argv = [sys.executable, "-m", "tests.background.launcher"]
        with subprocess.Popen(
            argv, cwd=_REPOSITORY, env=environ, stdin=pipe, stdout=pipe, text=True, **options
        ) as program:
            try:
                yield program
            finally:
                program.kill()


def make_yard(folder: Path, limit: int = 8, **settings: Any) -> Yard:
    """A project whose agents are contained as is the default here."""
    yard = Yard(make_stage(folder, choose_mechanism(), maxBackground=limit, **settings), limit)
    yard.preset(PRESET)
    return yard


def descriptors() -> int:
    """How many descriptors this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
