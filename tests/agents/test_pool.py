"""Who gets a kept process, and when a new one is started; with fake agents and a clock that does not wait."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.agents.agent import RENEWAL_S
from pi_subagents.agents.pool import PATIENCE_S, AgentPool, Keeping
from pi_subagents.harness import Invocation
from pi_subagents.runners import Footprint, Sink, SlotLease, SpawnFailed, Stream
from pi_subagents.testing import run_on_virtual_clock

START_S = 0.5
STATE = b'{"state": "fresh"}'


@dataclass(frozen=True)
class FakeRenewal:
    """A process renews itself when it is asked to, and says so."""

    fingerprint: str = "kind"
    reads: Mapping[Path, bytes] = field(default_factory=dict)
    request: bytes = b"renew"

    around: Mapping[Path, str] | None = field(default_factory=dict)

    def surroundings(self) -> Mapping[Path, str] | None:
        return self.around

    def identity(self, frame: bytes) -> str | None:
        return "model" if b"state" in frame else None

    def heard(self, frame: bytes) -> bytes | bool:
        return bool(json.loads(frame)["state"] == "fresh")


INVOCATION = Invocation(("pi",), {}, Path("/"), b"task", interactive=True, renewal=FakeRenewal())


class FakeAgentProcess:
    """Prints its state when it has started and when it is renewed, and answers every task after `task_s`."""

    reused = False
    containment = "fake"

    def __init__(self, world: World, invocation: Invocation, sink: Sink, lease: SlotLease | None, pid: int) -> None:
        self.pid = pid
        self.world = world
        self.sink = sink
        self.lease = lease
        self.heard: list[bytes] = [invocation.stdin]
        self.gone = False
        self.footprint = Footprint(3, 100)
        asyncio.get_running_loop().call_later(START_S, self.prints, STATE)

    def prints(self, record: bytes, stream: Stream = "stdout") -> None:
        if not self.gone:
            self.sink.on_output(stream, record + b"\n")

    def send(self, data: bytes) -> None:
        self.heard.append(data)
        if data == b"renew" and self.world.renews:
            self.prints(self.world.renews)

    def close_input(self) -> None:
        asyncio.get_running_loop().call_soon(self.exits, 0)

    finish = terminate = kill = close_input

    def release(self, *, reusable: bool) -> None: ...

    def weigh(self) -> Footprint:
        return self.footprint

    def exits(self, code: int) -> None:
        if not self.gone:
            self.gone = True
            if self.lease is not None:
                self.lease.release()
            self.sink.on_exit(code)


class World:
    """A runner whose processes cost nothing, and the agents on top of it."""

    def __init__(self, *, starts_at_once: int = 2, idle_s: float = 60, slots: Any = None) -> None:
        self.processes: list[FakeAgentProcess] = []
        self.renews = STATE
        self.fails = False
        keeping = Keeping(idle_s, 1000)
        self.agents = AgentPool(self, keeping, slots=slots, starts_at_once=starts_at_once)

    def start(self, invocation: Invocation, sink: Sink, lease: SlotLease | None = None) -> FakeAgentProcess:
        if self.fails:
            raise SpawnFailed("no")
        self.processes.append(FakeAgentProcess(self, invocation, sink, lease, len(self.processes) + 1))
        return self.processes[-1]

    async def task(self, task_s: float = 0.0, *, ok: bool = True, renewal: FakeRenewal | None = None) -> Job:
        """One task from its slot to its release."""
        invocation = Invocation(("pi",), {}, Path("/"), b"task", interactive=True, renewal=renewal or FakeRenewal())
        job = Job()
        async with self.agents.slot(invocation) as slot:
            job.process = slot.start(job)
        job.reused = job.process.reused
        while True:
            if job.exit_code is not None or self._told(job):
                break
            await asyncio.sleep(0.01)
        await asyncio.sleep(task_s)
        job.process.finish()
        await job.ended.wait()
        job.process.release(reusable=ok)
        return job

    def _told(self, job: Job) -> bool:
        process = self.processes[job.process.pid - 1]
        return bool(job.output) or (process.heard[-1] == b"task" and len(process.heard) > 1)


class Job:
    """A run's end of a process."""

    process: Any
    reused = False

    def __init__(self) -> None:
        self.output: list[bytes] = []
        self.exit_code: int | None = None
        self.ended = asyncio.Event()

    def on_output(self, stream: Stream, data: bytes) -> None:
        self.output.append(data)

    def on_exit(self, exit_code: int) -> None:
        self.exit_code = exit_code
        self.ended.set()


def play(scene: Callable[[World], Awaitable[Any]], **options: Any) -> tuple[World, Any]:
    """Play a scene on the virtual clock."""

    async def main() -> tuple[World, Any]:
        world = World(**options)
        result = await scene(world)
        await world.agents.close()
        assert all(process.gone for process in world.processes)
        return world, result

    return run_on_virtual_clock(main())


def test_quick_tasks_share_as_many_processes_as_may_start_at_once() -> None:
    async def scene(world: World) -> list[Job]:
        return await asyncio.gather(*(world.task() for _ in range(10)))

    world, jobs = play(scene)
    assert len(world.processes) == 2
    assert sum(job.reused for job in jobs) == 8
    assert {job.exit_code for job in jobs} == {0}


def test_slow_tasks_get_processes_of_their_own_after_a_moment_of_patience() -> None:
    async def scene(world: World) -> float:
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*(world.task(100) for _ in range(4)))
        return asyncio.get_running_loop().time() - began

    world, took = play(scene)
    assert len(world.processes) == 4
    assert took < 2 * START_S + PATIENCE_S + 100 + 1


def test_a_process_whose_run_was_not_completed_is_not_used_again() -> None:
    async def scene(world: World) -> bool:
        await world.task(ok=False)
        return (await world.task()).reused

    assert not play(scene)[1]


def test_a_process_that_left_something_behind_or_grew_is_ended() -> None:
    async def scene(world: World, worse: Footprint) -> bool:
        first = asyncio.create_task(world.task(1))
        await asyncio.sleep(START_S + 0.5)
        world.processes[0].footprint = worse
        await first
        return (await world.task()).reused

    for worse, reused in ((Footprint(3, 999), True), (Footprint(4, 100), False), (Footprint(3, 1001), False)):
        _, found = play(lambda world, worse=worse: scene(world, worse))  # type: ignore[misc]
        assert found is reused


def test_a_process_that_does_not_begin_anew_is_replaced_and_the_task_is_done() -> None:
    async def scene(world: World, says: bytes) -> Job:
        await world.task()
        world.renews = says
        return await world.task()

    for says in (b'{"state": "old"}', b""):
        world, job = play(lambda world, says=says: scene(world, says))  # type: ignore[misc]
        assert len(world.processes) == 2
        assert job.process.pid == 2
        assert job.exit_code == 0


def test_a_process_that_dies_while_it_is_kept_is_replaced() -> None:
    async def scene(world: World) -> Job:
        await world.task()
        world.processes[0].exits(1)
        return await world.task()

    world, job = play(scene)
    assert len(world.processes) == 2
    assert not job.reused


def test_if_its_replacement_cannot_be_started_the_run_is_told() -> None:
    async def scene(world: World) -> Job:
        await world.task()
        world.renews, world.fails = b'{"state": "old"}', True
        return await world.task()

    _, job = play(scene)
    assert (job.exit_code, job.output) == (127, [b"no"])


def test_a_kept_process_ends_when_nobody_needs_it() -> None:
    async def scene(world: World) -> bool:
        await world.task()
        await asyncio.sleep(5)
        assert not world.processes[0].gone
        await asyncio.sleep(6)
        return world.processes[0].gone

    assert play(scene, idle_s=10)[1]


def test_files_that_changed_or_cannot_be_read_make_a_process_useless(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_bytes(b"Be brief.")

    async def scene(world: World) -> list[bool]:
        reused = []
        for text in (b"Be brief.", b"Be brief.", b"Be verbose.", None):
            if text is None:
                prompt.unlink()
            else:
                prompt.write_bytes(text)
            reused.append((await world.task(renewal=FakeRenewal(reads={prompt: b"Be brief."}))).reused)
        return reused

    assert play(scene)[1] == [False, True, False, False]


def test_surroundings_that_changed_or_forbid_it_make_a_process_useless() -> None:
    async def scene(world: World) -> list[bool]:
        reused = []
        for around in ({}, {}, {Path("models.json"): "1"}, {Path("models.json"): "1"}, None, None):
            reused.append((await world.task(renewal=FakeRenewal(around=around))).reused)
        return reused

    assert play(scene)[1] == [False, True, False, True, False, False]


def test_an_idle_process_of_another_kind_goes_when_there_are_enough() -> None:
    async def scene(world: World) -> list[bool]:
        for number in range(5):
            await world.task(renewal=FakeRenewal(f"kind {number}"))
        await asyncio.sleep(2)
        return [process.gone for process in world.processes]

    assert play(scene)[1] == [True, False, False, False, False]


class FakeSlots:
    """A number of slots."""

    def __init__(self, count: int) -> None:
        self.free = count

    def take(self) -> Any:
        if not self.free:
            return None
        self.free -= 1
        return self

    def release(self) -> None:
        self.free += 1


def test_there_are_never_more_processes_than_slots_and_an_idle_one_makes_room() -> None:
    most = 0

    async def scene(world: World) -> None:
        nonlocal most
        await world.task()
        others = [asyncio.create_task(world.task(5, renewal=FakeRenewal(f"kind {n}"))) for n in range(3)]
        while not all(task.done() for task in others):
            most = max(most, sum(not process.gone for process in world.processes))
            await asyncio.sleep(0.05)

    slots = FakeSlots(2)
    play(scene, slots=slots)
    assert most == 2
    assert slots.free == 2


async def test_a_slot_that_nobody_uses_is_given_back() -> None:
    slots = FakeSlots(1)
    world = World(slots=slots)
    async with world.agents.slot(INVOCATION):
        assert slots.free == 0
    assert (slots.free, world.processes) == (1, [])


def test_a_kept_process_that_was_meant_for_a_run_which_did_not_start_serves_the_next() -> None:
    async def scene(world: World) -> bool:
        await world.task()
        async with world.agents.slot(INVOCATION):
            pass
        return (await world.task()).reused

    world, reused = play(scene)
    assert reused
    assert len(world.processes) == 1


def test_what_is_said_while_a_process_begins_anew_also_reaches_the_one_that_takes_over() -> None:
    async def scene(world: World) -> list[bytes]:
        await world.task()
        world.renews = b""
        async with world.agents.slot(INVOCATION) as slot:
            handle = slot.start(Job())
        handle.send(b"look at the tests")
        await asyncio.sleep(RENEWAL_S + 1)
        handle.kill()
        await asyncio.sleep(1)
        return world.processes[1].heard

    assert play(scene)[1] == [b"task", b"look at the tests"]


async def test_a_run_that_is_stopped_while_it_waits_gets_no_slot_even_if_one_is_freed_in_the_same_moment() -> None:
    slots = FakeSlots(1)
    slots.free = 0
    world = World(slots=slots)

    async def take() -> None:
        async with world.agents.slot(INVOCATION):
            pass

    waiting = asyncio.create_task(take())
    await asyncio.sleep(0.01)
    slots.free = 1
    world.agents._notify()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert slots.free == 1
