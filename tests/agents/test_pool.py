"""Who gets a kept process, and when a new one is started; with fake agents and a clock that does not wait."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pi_subagents.agents.agent import RENEWAL_S
from pi_subagents.agents.pool import AgentPool, Keeping
from pi_subagents.agents.starting import PATIENCE_S, THINKING_AFTER_S
from pi_subagents.harness import Invocation
from pi_subagents.runners import Footprint, Sink, SlotLease, SpawnFailed, Stream

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

    def __init__(self, *, idle_s: float = 60, slots: FakeSlots | None = None) -> None:
        self.processes: list[FakeAgentProcess] = []
        self.renews = STATE
        self.fails = False
        self.slots = slots
        self.agents = AgentPool(self, Keeping(idle_s, 1000), slots=slots, cores=2)

    def start(self, invocation: Invocation, sink: Sink, lease: SlotLease | None = None) -> FakeAgentProcess:
        if self.fails:
            raise SpawnFailed("no")
        self.processes.append(FakeAgentProcess(self, invocation, sink, lease, len(self.processes) + 1))
        return self.processes[-1]

    async def task(self, task_s: float = 0.0, *, ok: bool = True, renewal: FakeRenewal | None = None) -> Job:
        """One task from its slot to its release."""
        job, invocation = Job(), replace(INVOCATION, renewal=renewal or FakeRenewal())
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

    def on_replaced(self, pid: int, containment: str) -> None: ...

    def on_exit(self, exit_code: int) -> None:
        self.exit_code = exit_code
        self.ended.set()


class FakeSlots:
    """A number of slots."""

    def __init__(self, count: int) -> None:
        self.free = count

    def take(self) -> FakeSlots | None:
        if not self.free:
            return None
        self.free -= 1
        return self

    def release(self) -> None:
        self.free += 1


@pytest.fixture
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A world, made as a test says indirectly; when it is closed nothing is left of any process."""
    world = World(**getattr(request, "param", {}))
    yield world
    await world.agents.close()
    assert all(process.gone for process in world.processes)


async def test_quick_tasks_share_as_many_processes_as_may_start_at_once(world: World) -> None:
    jobs = await asyncio.gather(*(world.task() for _ in range(10)))
    assert len(world.processes) == 2
    assert sum(job.reused for job in jobs) == 8
    assert {job.exit_code for job in jobs} == {0}


async def test_tasks_of_agents_that_think_get_processes_of_their_own_as_soon_as_that_shows(world: World) -> None:
    await asyncio.gather(*(world.task(100) for _ in range(4)))
    assert len(world.processes) == 4
    assert asyncio.get_running_loop().time() < 2 * START_S + THINKING_AFTER_S + 100 + 0.02


async def test_a_task_waits_only_so_long_for_agents_that_never_stop_talking(world: World) -> None:
    async def talk() -> None:
        while True:
            await asyncio.sleep(THINKING_AFTER_S / 2)
            for process in world.processes:
                process.prints(b"{}")

    talking = asyncio.create_task(talk())
    await asyncio.gather(*(world.task(10) for _ in range(3)))
    talking.cancel()
    assert len(world.processes) == 3
    assert asyncio.get_running_loop().time() < 2 * START_S + PATIENCE_S + 10 + 0.1


async def test_a_process_whose_run_was_not_completed_is_not_used_again(world: World) -> None:
    await world.task(ok=False)
    assert not (await world.task()).reused


@pytest.mark.parametrize(
    ("worse", "reused"), [(Footprint(3, 999), True), (Footprint(4, 100), False), (Footprint(3, 1001), False)]
)
async def test_a_process_that_left_something_behind_or_grew_is_ended(
    worse: Footprint, reused: bool, world: World
) -> None:
    first = asyncio.create_task(world.task(1))
    await asyncio.sleep(START_S + 0.5)
    world.processes[0].footprint = worse
    await first
    assert (await world.task()).reused is reused


@pytest.mark.parametrize("says", [b'{"state": "old"}', b""])
async def test_a_process_that_does_not_begin_anew_is_replaced_and_the_task_is_done(says: bytes, world: World) -> None:
    await world.task()
    world.renews = says
    job = await world.task()
    assert (len(world.processes), job.process.pid, job.exit_code) == (2, 2, 0)


async def test_a_process_that_dies_while_it_is_kept_is_replaced(world: World) -> None:
    await world.task()
    world.processes[0].exits(1)
    job = await world.task()
    assert (len(world.processes), job.reused) == (2, False)


async def test_if_its_replacement_cannot_be_started_the_run_is_told(world: World) -> None:
    await world.task()
    world.renews, world.fails = b'{"state": "old"}', True
    job = await world.task()
    assert (job.exit_code, job.output) == (127, [b"no"])


@pytest.mark.parametrize("world", [{"idle_s": 10}], indirect=True)
async def test_a_kept_process_ends_when_nobody_needs_it(world: World) -> None:
    await world.task()
    await asyncio.sleep(5)
    assert not world.processes[0].gone
    await asyncio.sleep(6)
    assert world.processes[0].gone


async def test_files_that_changed_or_cannot_be_read_make_a_process_useless(world: World, tmp_path: Path) -> None:
    prompt, reused = tmp_path / "prompt.md", []
    for text in (b"Be brief.", b"Be brief.", b"Be verbose.", None):
        if text is None:
            prompt.unlink()
        else:
            prompt.write_bytes(text)
        reused.append((await world.task(renewal=FakeRenewal(reads={prompt: b"Be brief."}))).reused)
    assert reused == [False, True, False, False]


async def test_surroundings_that_changed_or_forbid_it_make_a_process_useless(world: World) -> None:
    changed = {Path("models.json"): "1"}
    around: list[Mapping[Path, str] | None] = [{}, {}, changed, changed, None, None]
    reused = [(await world.task(renewal=FakeRenewal(around=each))).reused for each in around]
    assert reused == [False, True, False, True, False, False]


async def test_an_idle_process_of_another_kind_goes_when_there_are_enough(world: World) -> None:
    for number in range(5):
        await world.task(renewal=FakeRenewal(f"kind {number}"))
    await asyncio.sleep(2)
    assert [process.gone for process in world.processes] == [True, False, False, False, False]


@pytest.mark.parametrize("world", [{"slots": FakeSlots(2)}], indirect=True)
async def test_there_are_never_more_processes_than_slots_and_an_idle_one_makes_room(world: World) -> None:
    most = 0
    await world.task()
    others = [asyncio.create_task(world.task(5, renewal=FakeRenewal(f"kind {n}"))) for n in range(3)]
    while not all(task.done() for task in others):
        most = max(most, sum(not process.gone for process in world.processes))
        await asyncio.sleep(0.05)
    assert most == 2
    await world.agents.close()
    assert world.slots is not None
    assert world.slots.free == 2


@pytest.mark.parametrize("world", [{"slots": FakeSlots(1)}], indirect=True)
async def test_a_slot_that_nobody_uses_is_given_back(world: World) -> None:
    assert world.slots is not None
    async with world.agents.slot(INVOCATION):
        assert world.slots.free == 0
    assert (world.slots.free, world.processes) == (1, [])


@pytest.mark.parametrize("world", [{"slots": FakeSlots(0)}], indirect=True)
async def test_a_run_that_is_stopped_while_it_waits_gets_no_slot_even_if_one_is_freed_in_the_same_moment(
    world: World,
) -> None:
    waiting = asyncio.create_task(world.task())
    await asyncio.sleep(0.01)
    assert world.slots is not None
    world.slots.free = 1
    world.agents._notify()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (world.slots.free, world.processes) == (1, [])


async def test_a_kept_process_that_was_meant_for_a_run_which_did_not_start_serves_the_next(world: World) -> None:
    await world.task()
    async with world.agents.slot(INVOCATION):
        pass
    assert (await world.task()).reused
    assert len(world.processes) == 1


async def test_what_is_said_while_a_process_begins_anew_also_reaches_the_one_that_takes_over(world: World) -> None:
    await world.task()
    world.renews = b""
    async with world.agents.slot(INVOCATION) as slot:
        handle = slot.start(Job())
    handle.send(b"look at the tests")
    await asyncio.sleep(RENEWAL_S + 1)
    handle.kill()
    await asyncio.sleep(1)
    assert world.processes[1].heard == [b"task", b"look at the tests"]
