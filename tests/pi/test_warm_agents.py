"""Agents that are kept for the next task, with the real pi: each task begins with nothing of the one before."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi_subagents.agents.pool import agents_for
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.harness.pi.programs import find_pi
from pi_subagents.harness.pi.rpc import PiRpc
from pi_subagents.models import Task
from pi_subagents.models.event import Started
from pi_subagents.offline import Call, Fail, Hang, Request, Say, Script
from pi_subagents.paths import runtime_dir
from pi_subagents.profiles import invalidate_profiles_cache
from pi_subagents.runners import Runner
from pi_subagents.settings import load_settings
from pi_subagents.store import JOURNAL_FILE, read_journal
from tests.pi.stage import WAIT_S, Play, Stage

ANSWER = Script().otherwise([Call("bash", {"command": "echo hello"}), Say("Done.")])


class House:
    """A pool of agents that several delegations use one after the other."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        settings = msgspec.structs.replace(load_settings(stage.project, stage.agent_dir), warm_agents=True)
        self.agents: Runner = agents_for(stage.place, settings)

    async def run(self, *prompts: str, concurrency: int = 1, **fields: Any) -> list[Started]:
        """See tasks through, one after the other unless told otherwise; how each of their agents was started."""
        tasks = [Task(f"task {number}", prompt, **fields) for number, prompt in enumerate(prompts)]
        delegation = Delegation(
            tasks, place=self.stage.place, concurrency=concurrency, harness=PiRpc(), agents=self.agents
        )
        async with asyncio.timeout(WAIT_S):
            self.results = await delegation
        return [_started(run.run_dir) for run in delegation.runs]


def _started(run_dir: Path) -> Started:
    (started,) = [event for event in read_journal(run_dir / JOURNAL_FILE) if isinstance(event, Started)]
    return started


Build = Callable[[Stage], House]


@pytest.fixture
async def build() -> AsyncIterator[Build]:
    """A function that makes a house on a stage."""
    async with AsyncExitStack() as houses:

        def built(stage: Stage) -> House:
            house = House(stage)
            houses.push_async_callback(house.agents.close)
            return house

        yield built


@pytest.fixture
def house(play: Play, build: Build) -> House:
    """Agents on the real pi with a model that says the same to everybody."""
    return build(play(ANSWER))


async def test_tasks_of_the_same_kind_share_a_process_and_nothing_else(house: House) -> None:
    started = await house.run("First secret word: apple.", "Second.", "Third.")
    assert [one.reused for one in started] == [False, True, True]
    assert len({one.pid for one in started}) == 1
    assert {result.status for result in house.results} == {"completed"}
    assert len({(result.output, result.tool_count, result.usage.output) for result in house.results}) == 1
    for request in house.stage.model.requests:
        roles = [message["role"] for message in request.messages if message["role"] == "user"]
        assert roles == ["user"], "a conversation has one prompt"
    third = house.stage.model.requests[-1]
    assert third.first_user_text == "Third."
    assert "apple" not in json.dumps(third.body)
    for run_dir, prompt in zip(house.stage.run_dirs, ("First", "Second", "Third"), strict=True):
        conversation = run_dir / "child-session.jsonl"
        assert prompt in conversation.read_text()
        assert conversation.stat().st_mode & 0o077 == 0


LOOK_AROUND = """
cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' '\\n'
ls -l /proc/[0-9]*/fd /proc/[0-9]*/cwd; env; pwd; jobs; ls -A; ls -lR '{runtime}'
"""
LEAVE_TRACES = "export LEFT=banana; cd /var; alias left=banana; printf '%s' \"$LEFT\" > /dev/null"


async def test_a_task_finds_nothing_of_an_earlier_one_in_its_process(play: Play, build: Build) -> None:
    look_around = LOOK_AROUND.replace("{runtime}", str(runtime_dir()))

    def look(request: Request) -> Any:
        return Call("bash", {"command": LEAVE_TRACES if "apple" in request.first_user_text else look_around})

    stage = play(Script().otherwise([look, Say("Done.")]))
    stage.write_profile("helper", body="Be brief.")
    house = build(stage)
    first, second = await house.run("The word is apple.", "Look around.", profile="helper")
    assert (first.reused, second.reused) == (False, True)
    earlier, later = house.results
    seen = json.dumps(stage.model.requests[-1].body)
    assert "--system-prompt" in seen, "it sees the process that it works in"
    for trace in (earlier.run_dir.name, earlier.session_id, "apple", "banana", "cwd -> /var"):
        assert trace not in seen
    assert f"PWD={stage.project}" in seen, "it works where the task says, not where the last one went"
    assert (later.tool_count, earlier.tool_count) == (1, 1)
    assert [json.loads((run.run_dir / "result.json").read_text())["reusedProcess"] for run in (earlier, later)] == [
        False,
        True,
    ]


def _profile(stage: Stage, text: str) -> None:
    os.utime(stage.write_profile("helper", body=text), ns=(0, len(text)))


async def test_a_changed_profile_gets_a_process_of_its_own(house: House) -> None:
    _profile(house.stage, "Be brief.")
    (first,) = await house.run("One.", profile="helper")
    (again,) = await house.run("Two.", profile="helper")
    _profile(house.stage, "Be verbose.")
    invalidate_profiles_cache()
    (changed,) = await house.run("Three.", profile="helper")
    (plain,) = await house.run("Four.")
    assert [one.reused for one in (first, again, changed, plain)] == [False, True, False, False]
    instructions = [request.system_text for request in house.stage.model.requests if request.step == 0]
    assert ["Be brief." in text for text in instructions] == [True, True, False, False]


async def test_instructions_that_were_deleted_with_their_run_are_not_missed(house: House) -> None:
    _profile(house.stage, "Be brief.")
    await house.run("One.", profile="helper")
    (house.stage.run_dirs[0] / "system-prompt.md").unlink()
    (second,) = await house.run("Two.", profile="helper")
    assert second.reused
    assert "Be brief." in house.stage.model.requests[-1].system_text


async def test_context_files_that_an_agent_changed_are_read_again(house: House) -> None:
    (house.stage.project / "AGENTS.md").write_text("The word is ALPHA.")
    await house.run("One.")
    (house.stage.project / "AGENTS.md").write_text("The word is OMEGA.")
    (second,) = await house.run("Two.")
    assert second.reused
    assert "OMEGA" in house.stage.model.requests[-1].system_text


def _touch_models(stage: Stage) -> None:
    path = stage.agent_dir / "models.json"
    path.write_text(path.read_text() + " ")


def _add_extension(stage: Stage) -> None:
    (stage.agent_dir / "extensions").mkdir()
    (stage.agent_dir / "extensions" / "x.ts").write_text("export default function () {}\n")


@pytest.mark.parametrize("change", [_touch_models, _add_extension], ids=["models", "an extension"])
async def test_what_a_process_reads_only_once_makes_it_useless_when_it_changes(
    house: House, change: Callable[[Stage], Any]
) -> None:
    await house.run("One.")
    change(house.stage)
    (second,) = await house.run("Two.")
    assert not second.reused


async def test_a_program_that_was_replaced_does_the_next_task(play: Play, build: Build) -> None:
    stage = play(ANSWER)
    launcher = stage.write("pi", f'#!/bin/sh\nexec {shlex.join(find_pi(None, stage.environ).argv)} "$@"\n')
    launcher.chmod(0o755)
    stage.environ["PI_SUBAGENTS_PI"] = str(launcher)
    house = build(stage)
    assert [one.reused for one in await house.run("One.", "Two.")] == [False, True]
    launcher.write_text(launcher.read_text() + "# a newer one\n")
    assert [one.reused for one in await house.run("Three.", "Four.")] == [False, True]


async def test_a_daemon_is_found_also_where_it_takes_the_place_of_another_process(play: Play, build: Build) -> None:
    steps = [Call("bash", {"command": "kill -9 2; (setsid sleep 300 >/dev/null 2>&1 &)"}), Say("Done.")]

    def first_only(request: Request) -> Any:
        return steps[min(request.step, len(steps) - 1)] if "One." in request.first_user_text else Say("Fine.")

    house = build(play(Script().otherwise([first_only, first_only, first_only])))
    await house.run("One.")
    (second,) = await house.run("Two.")
    assert not second.reused


async def test_extensions_may_remember_so_their_agents_are_not_kept(play: Play, build: Build) -> None:
    stage = play(ANSWER)
    extensions = stage.agent_dir / "extensions"
    extensions.mkdir()
    (extensions / "memory.ts").write_text("export default function () {}\n")
    house = build(stage)
    assert [one.reused for one in await house.run("One.", "Two.")] == [False, False]
    (extensions / "memory.ts").rename(extensions / "pi-subagents")
    assert [one.reused for one in await house.run("Three.", "Four.")] == [False, True], "our own does nothing there"


@pytest.mark.parametrize("field", ["extensions: {}", "extraArgs: ['-e', '{}']", "extraArgs: ['--extension={}']"])
async def test_an_extension_that_a_profile_names_may_remember_too(field: str, house: House) -> None:
    extension = house.stage.write("memory.ts", "export default function () {}\n")
    house.stage.write_profile("p", field.format(extension))
    assert [one.reused for one in await house.run("One.", "Two.", profile="p")] == [False, False]


async def test_servers_may_remember_so_their_agents_are_not_kept(play: Play, build: Build) -> None:
    stage = play(ANSWER)
    servers = stage.agent_dir / "mcp.json"
    servers.write_text('{"mcpServers": {}}')
    house = build(stage)
    assert [one.reused for one in await house.run("One.", "Two.")] == [False, False]
    servers.unlink()
    assert [one.reused for one in await house.run("Three.", "Four.")] == [False, True]


async def test_another_directory_environment_or_key_means_another_process(house: House) -> None:
    await house.run("One.")
    (elsewhere,) = await house.run("Two.", cwd=str(house.stage.root))
    house.stage.environ["SOME_VARIABLE"] = "1"
    (other,) = await house.run("Three.")
    assert not elsewhere.reused
    assert not other.reused


@pytest.mark.parametrize(
    "steps",
    [[Fail(400, "no")], [Call("bash", {"command": "nohup sleep 300 >/dev/null 2>&1 & echo started"}), Say("Done.")]],
    ids=["a failed run", "processes left behind"],
)
async def test_an_agent_is_not_kept_after(play: Play, build: Build, steps: list[Any]) -> None:
    def first_only(request: Request) -> Any:
        return steps[min(request.step, len(steps) - 1)] if "One." in request.first_user_text else Say("Fine.")

    house = build(play(Script().otherwise([first_only, first_only, first_only])))
    await house.run("One.")
    (second,) = await house.run("Two.")
    assert not second.reused
    assert house.results[0].output == "Fine."


async def test_an_agent_that_was_stopped_is_not_kept(play: Play, build: Build) -> None:
    def hang_first(request: Request) -> Any:
        return Hang() if "One." in request.first_user_text else Say("Fine.")

    stage = play(Script().otherwise([hang_first]))
    stage.write_settings(extend_timeout_debounce=0)
    house = build(stage)
    await house.run("One.", timeout=1)
    assert house.results[0].reason == "timeout"
    (second,) = await house.run("Two.")
    assert not second.reused
