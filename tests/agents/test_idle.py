"""When idle agents go although no time is up: somebody else needs their memory or their slot."""

from __future__ import annotations

import asyncio
import os

import pytest
from msgspec.structs import replace

from pi_subagents.agents.idle import LOOK_S
from pi_subagents.models.idle_agent import IdleAgent
from tests.agents.kit import INVOCATION, FakeRenewal, Job, World
from tests.kit.slots import FakeSlots


def gone(world: World) -> list[bool]:
    return [process.gone for process in world.processes]


async def keep(world: World, count: int) -> None:
    """Have that many agents idle, of different kinds."""
    for number in range(count):
        await world.task(renewal=FakeRenewal(f"kind {number}"))


async def test_all_idle_agents_go_when_memory_is_short_and_those_at_work_stay(world: World) -> None:
    await keep(world, 2)
    work = asyncio.create_task(world.task(10, renewal=FakeRenewal("other")))
    await asyncio.sleep(5 * LOOK_S)
    assert gone(world) == [False, False, False]
    world.memory_is_short = True
    await asyncio.sleep(1.1 * LOOK_S)
    assert gone(world) == [True, True, False]
    await work
    await asyncio.sleep(1.1 * LOOK_S)
    assert gone(world) == [True, True, True], "it is idle now, and memory is still short"


async def test_tasks_that_wait_here_share_agents_though_memory_is_short(world: World) -> None:
    world.memory_is_short = True
    jobs = await asyncio.gather(*(world.task() for _ in range(10)))
    assert sum(job.reused for job in jobs) == 8


@pytest.mark.parametrize("world", [{"slots": FakeSlots(4)}], indirect=True)
async def test_who_waits_elsewhere_gets_the_slot_of_the_agent_that_was_idle_longest_and_no_other(world: World) -> None:
    assert world.slots is not None
    await keep(world, 3)
    world.slots.wants = range(4)
    await asyncio.sleep(1.1 * LOOK_S)
    assert gone(world) == [True, False, False]
    world.slots.wants = range(0)
    await asyncio.sleep(5 * LOOK_S)
    assert gone(world) == [True, False, False]


@pytest.mark.parametrize("world", [{"slots": FakeSlots(4)}], indirect=True)
async def test_only_an_agent_in_a_slot_that_helps_goes(world: World) -> None:
    assert world.slots is not None
    taken = world.slots.take()
    await keep(world, 2)
    world.slots.wants = range(1)  # somebody may use one slot only, and that is at work
    await asyncio.sleep(3 * LOOK_S)
    assert gone(world) == [False, False]
    assert taken is not None
    taken.release()


@pytest.mark.parametrize("world", [{"slots": FakeSlots(4)}], indirect=True)
async def test_while_one_is_ending_for_somebody_else_no_other_goes(world: World) -> None:
    assert world.slots is not None
    await keep(world, 2)
    world.processes[0].is_slow_to_end = True
    world.slots.wants = range(4)
    await asyncio.sleep(3 * LOOK_S)
    assert gone(world) == [False, False]
    world.processes[0].exits(0)
    await asyncio.sleep(1.1 * LOOK_S)
    assert gone(world) == [True, True]


@pytest.mark.parametrize("world", [{"slots": FakeSlots(1)}], indirect=True)
async def test_an_idle_agent_has_its_slot_and_says_there_that_it_is_idle_until_it_is_used(world: World) -> None:
    assert world.slots is not None
    (slot,) = world.slots.slots
    told = [slot.idle]
    await world.task()
    told.append(slot.idle)
    work = asyncio.create_task(world.task(10))
    await asyncio.sleep(5)
    told.append(slot.idle)
    await work
    told.append(slot.idle)
    assert [idle and replace(idle, since=0) for idle in told] == [
        None,
        IdleAgent("run", os.getpid(), pid=1, since=0, memory_bytes=100),
    ] * 2
    assert world.slots.free == 0
    await world.agents.close()
    assert (world.slots.free, slot.idle) == (1, None)


@pytest.mark.parametrize("world", [{"slots": FakeSlots(1)}], indirect=True)
async def test_the_replacement_of_a_process_that_cannot_be_used_has_its_slot(world: World) -> None:
    assert world.slots is not None
    await world.task()
    world.renews = b'{"state": "old"}'
    work = asyncio.create_task(world.task(10))
    await asyncio.sleep(5)
    assert ([process.gone for process in world.processes], world.slots.free) == ([True, False], 0)
    await work
    await world.agents.close()
    assert world.slots.free == 1


@pytest.mark.parametrize("world", [{"slots": FakeSlots(1)}], indirect=True)
async def test_a_task_asks_others_for_a_slot_only_if_no_agent_here_is_idle(world: World) -> None:
    assert world.slots is not None
    await world.task()
    work = asyncio.create_task(world.task(5, renewal=FakeRenewal("other")))
    await asyncio.sleep(1)
    assert world.slots.requests == 0
    waiting = asyncio.create_task(world.task(renewal=FakeRenewal("third")))
    await asyncio.sleep(1)
    assert world.slots.requests > 0
    await asyncio.gather(work, waiting)


@pytest.mark.parametrize("world", [{"slots": FakeSlots(1)}], indirect=True)
async def test_a_task_whose_agent_dies_before_it_is_told_has_a_process_with_a_slot(world: World) -> None:
    assert world.slots is not None
    await world.task()
    async with world.agents.slot(INVOCATION) as slot:
        world.processes[0].exits(1)
        assert world.slots.free == 1
        handle = slot.start(Job())
    assert (len(world.processes), world.slots.free) == (2, 0)
    handle.kill()
    await asyncio.sleep(1)
    assert world.slots.free == 1
