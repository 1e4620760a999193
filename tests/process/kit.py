"""A project with a scripted agent in it, for what has to do with its processes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.harness import harness_named
from pi_subagents.models import Task
from pi_subagents.models.event import AnyEvent, Event, Output
from pi_subagents.place import Place
from pi_subagents.runs.run import RunResult
from pi_subagents.store import JOURNAL_FILE, read_journal
from pi_subagents.testing import Action, answer, prints, script
from pi_subagents.testing.agent import pauses, writes
from tests.kit.command import Ended, argv
from tests.kit.waiting import PATIENCE_S
from tests.kit.workplace import Workplace

PRESET, MODEL = "worker", "acme/large"
READY, FOREVER, DONE = writes(b"ready\n"), pauses(300), prints(*answer("Done."))


@dataclass
class Stage(Workplace):
    """A workplace whose agents are contained in a chosen way; `settings` are further ones of the project."""

    containment: str = "guard"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.write_settings(containment=self.containment, **self.settings)

    def delegation(
        self, *scripts: list[Action], environ: Mapping[str, str] | None = None, harness: str | None = None, **task: Any
    ) -> Delegation:
        """A delegation with one task per script."""
        place = Place.here(self.project, self.full_environ(environ))
        tasks = [Task(f"task {number}", script(*actions), **task) for number, actions in enumerate(scripts)]
        return Delegation(tasks, place=place, harness=harness_named(harness) if harness else None)

    async def run(self, *actions: Action, **options: Any) -> RunResult:
        """See one script through."""
        (result,) = await self.delegation(list(actions), **options)
        return result

    def holder(self, *actions: Action) -> subprocess.Popen[bytes]:
        """A process of its own that delegates one task, to be treated badly."""
        call = json.dumps({"tasks": [{"name": "task", "prompt": script(*actions)}]})
        return self.start(argv("call", "delegate_to_subagents", call))

    def program(self, source: str, *arguments: str, environ: Mapping[str, str] | None = None) -> Ended:
        """Run a Python program in the project to its end, which must be a good one."""
        argv, env = [sys.executable, "-c", source, *arguments], self.full_environ(environ)
        done = subprocess.run(
            argv, cwd=self.project, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, done.stderr
        return done

    def events(self) -> list[AnyEvent]:
        """The journal of the one run there is."""
        (run_dir,) = self.run_dirs
        return list(read_journal(run_dir / JOURNAL_FILE))

    def full_environ(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """What a process of this stage finds in its environment."""
        return {**self.environ, **(more or {})}


async def until_ready(delegation: Delegation, count: int = 1, sign: type[Event] = Output) -> asyncio.Task[None]:
    """Start a delegation and wait until `count` of its agents have given that sign; returns the rest of its work."""
    ready = asyncio.Semaphore(0)

    async def follow() -> None:
        async for update in delegation:
            if isinstance(update.event, sign):
                ready.release()

    work = asyncio.ensure_future(follow())
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(count):
            await ready.acquire()
    return work


def make_stage(folder: Path, containment: str, **settings: Any) -> Stage:
    """A project in `folder` whose settings ask for a containment."""
    return Stage(folder, containment=containment, settings=settings)


def furnish(place: Workplace) -> None:
    """A profile `quick` and a preset, for calls that name them."""
    place.write_profile("quick", "model: acme/small", body="Be quick.\n")
    place.write_preset(PRESET, f"model: {MODEL}")


def tasks(*scripts: list[Action], **fields: Any) -> dict[str, Any]:
    """The arguments of a delegation, one task for each script."""
    return {
        "tasks": [{"name": f"task {i}", "prompt": script(*actions), **fields} for i, actions in enumerate(scripts, 1)]
    }
