"""Agents that cannot be started fail with the documented sentence, and only they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.models import Task
from pi_subagents.models import event as ev
from pi_subagents.place import Place
from pi_subagents.testing import SCRIPTED_AGENT, script
from pi_subagents.testing.agent import exits
from tests.process.kit import DONE, Stage

NOT_STARTED = ("failed", "spawn", "Failed to spawn sub-agent process")


NO_PROGRAMS: dict[str, tuple[bytes, int] | None] = {
    "missing": None,
    "not executable": (b"#!/bin/sh\n", 0o644),
    "without its interpreter": (b"#!/no/such/interpreter\n", 0o755),
    "no program": (b"\x7fELF and nothing more", 0o755),
}


@pytest.mark.parametrize("kind", [*NO_PROGRAMS, "a directory"])
async def test_a_program_that_cannot_be_run_is_a_failed_start(kind: str, stage: Stage, tmp_path: Path) -> None:
    program = tmp_path if kind == "a directory" else tmp_path / "program"
    if (file := NO_PROGRAMS.get(kind)) is not None:
        program.write_bytes(file[0])
        program.chmod(file[1])
    result = await stage.run(DONE, environ={SCRIPTED_AGENT[0]: str(program)})
    assert (result.status, result.reason, result.error) == NOT_STARTED
    told = [event.text for event in stage.events() if isinstance(event, ev.Stderr)]
    assert told, "the journal must say what was wrong with the program"


async def test_the_other_tasks_run(stage: Stage, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    tasks = [
        Task("lost", script(DONE), cwd=str(gone)),
        Task("fine", script(DONE)),
        Task("odd", script(exits(127))),
        Task("fine too", script(DONE)),
    ]
    delegation = Delegation(tasks, place=Place.here(stage.project, stage.full_environ()))
    delegation.prepare()
    gone.rmdir()
    results = await delegation
    assert [result.status for result in results] == ["failed", "completed", "failed", "completed"]
    assert {result.error for result in results if not result.ok} == {NOT_STARTED[2]}
    assert stage.processes() == []


@pytest.mark.usefixtures("unhurried")
async def test_an_agent_that_spoke_and_exits_with_127_was_started(stage: Stage) -> None:
    result = await stage.run(DONE, exits(127), harness="pi-json")
    assert (result.reason, result.error) == ("exit", "Sub-agent exited with code 127")


EXHAUSTED = """
import asyncio, os, resource, sys
from pathlib import Path
from pi_subagents.harness import Invocation
from pi_subagents.runners import LocalRunner, SpawnFailed

class Nobody:
    on_output = on_exit = lambda *_: None

async def main():
    runner = LocalRunner(sys.argv[1])
    open_files = len(os.listdir("/proc/self/fd"))
    refused = 0
    for spare in range(-1, 12):
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_files + spare, 4096))
        try:
            runner.start(Invocation(("true",), dict(os.environ), Path("/"), b""), Nobody())
        except SpawnFailed:
            refused += 1
        else:
            break
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    print(refused > 0)

asyncio.run(main())
"""


def test_a_holder_without_free_descriptors_is_a_failed_start_and_no_crash(stage: Stage) -> None:
    done = stage.program(EXHAUSTED, stage.containment)
    assert (done.stdout, done.stderr) == ("True\n", "")
