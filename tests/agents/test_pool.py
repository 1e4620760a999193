"""Who gets a kept process, and when a new one is started; with fake agents and a clock that does not wait."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from pi_subagents.agents.agent import RENEWAL_S
from pi_subagents.agents.instructions import Instructions
from pi_subagents.agents.starting import PATIENCE_S, STARTING_S, THINKING_AFTER_S
from pi_subagents.paths import runtime_dir
from pi_subagents.runners import Footprint, SpawnFailed
from tests.agents.kit import INVOCATION, START_S, STATE, FakeRenewal, Job, World, footprint
from tests.kit.slots import FakeSlot, FakeSlots


async def test_quick_tasks_share_as_many_processes_as_may_start_at_once(world: World) -> None:
    jobs = await asyncio.gather(*(world.task() for _ in range(10)))
    assert len(world.processes) == 2
    assert sum(job.reused for job in jobs) == 8
    assert {job.exit_code for job in jobs} == {0}


async def test_tasks_of_agents_that_think_get_processes_of_their_own_as_soon_as_that_shows(world: World) -> None:
    await asyncio.gather(*(world.task(100) for _ in range(4)))
    assert len(world.processes) == 4
    assert asyncio.get_running_loop().time() < 2 * START_S + THINKING_AFTER_S + 100 + 0.02


async def test_an_agent_whose_end_is_recorded_or_who_begins_anew_is_waited_for(world: World) -> None:
    await world.task()
    world.renews = b""  # it takes its time

    async def record_slowly() -> None:
        job = Job()
        async with world.agents.slot(INVOCATION) as slot:
            process = slot.start(job)
        await asyncio.sleep(2 * THINKING_AFTER_S)
        world.processes[0].prints(STATE)
        process.finish()
        await job.ended.wait()
        await asyncio.sleep(PATIENCE_S / 2)
        world.renews = STATE
        process.release(reusable=True)

    first = asyncio.create_task(record_slowly())
    await asyncio.sleep(2 * THINKING_AFTER_S + 0.01)
    second = await world.task()
    await first
    assert (len(world.processes), second.reused) == (1, True)


async def test_an_agent_that_begins_anew_after_a_long_rest_is_not_taken_for_one_that_thinks(world: World) -> None:
    await asyncio.gather(world.task(), world.task())
    await asyncio.sleep(10)
    world.renews = b""
    tasks = [asyncio.create_task(world.task()) for _ in range(3)]
    await asyncio.sleep(THINKING_AFTER_S / 2)
    for process in world.processes:
        process.prints(STATE)
    world.renews = STATE
    await asyncio.gather(*tasks)
    assert len(world.processes) == 2


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
    ("worse", "reused"),
    [
        (footprint(3, 999), True),
        (footprint(2, 100), True),
        (footprint(4, 100), False),
        (Footprint(frozenset({(0, 0), (1, 0), (9, 0)}), 100), False),  # one for another: as many as before
        (Footprint(frozenset({(0, 0), (1, 0), (2, 5)}), 100), False),  # the same number, but somebody else
        (footprint(3, 1001), False),
    ],
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


async def test_what_a_process_complained_of_before_it_settled_reaches_its_run(world: World) -> None:
    job = asyncio.create_task(world.task(1))
    await asyncio.sleep(START_S + 0.5)
    world.processes[0].unread = [b"careful"]
    assert (await job).output[-1] == b"careful"


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


async def test_instructions_that_changed_or_cannot_be_read_make_a_process_useless(world: World) -> None:
    reused = []
    for text in (b"Be brief.", b"Be brief.", b"Be verbose.", None):
        for process in world.processes:
            _rewrite(Path(process.argv[1], "prompt.md"), text)
        renewal = FakeRenewal(instructions={"prompt.md": b"Be brief."})
        reused.append((await world.task(renewal=renewal)).reused)
    assert reused == [False, True, False, False]


def _rewrite(prompt: Path, text: bytes | None) -> None:
    prompt.unlink(missing_ok=True) if text is None else prompt.write_bytes(text)


async def test_instructions_end_with_their_program_or_with_the_next_one_that_made_some(tmp_path: Path) -> None:
    renewal = FakeRenewal(instructions={"prompt.md": b"Be brief."})
    ours, killed, next_one = Instructions(), Instructions(), Instructions()
    kept, left = ours.folder_for(renewal), killed.folder_for(renewal)
    assert killed._lease is not None
    killed._lease.release()  # as the kernel does
    assert next_one.folder_for(renewal).exists()
    next_one.close()
    assert (kept.exists(), left.exists()) == (True, False)
    ours.close()
    assert not kept.parent.exists()


async def test_no_run_is_named_to_a_process_that_may_be_kept(world: World) -> None:
    first = asyncio.create_task(world.task(1))
    await asyncio.sleep(START_S + 0.5)
    (process,) = world.processes
    name = Path(process.argv[-1])
    assert _leads_to(name) == FakeRenewal.conversation_file
    assert not {*name.parts} & {*FakeRenewal.conversation_file.parts[1:]}
    assert process.argv == FakeRenewal().command(Path("/"), name)
    assert process.heard == [b"renew", b"task"]
    await first
    assert _leads_to(name) is None, "a later task could follow it to the record of the first"


def _leads_to(name: Path) -> Path | None:
    return name.readlink() if name.is_symlink() else None


async def test_a_process_that_dies_in_its_first_run_leaves_no_name_of_it_behind(world: World) -> None:
    first = asyncio.create_task(world.task(1))
    await asyncio.sleep(START_S + 0.5)
    (process,) = world.processes
    process.exits(1)
    await first
    assert _leads_to(Path(process.argv[-1])) is None


async def test_a_kind_of_process_that_cannot_begin_a_conversation_is_started_with_its_task(world: World) -> None:
    world.says = b'{"state": "old"}'
    job = await world.task()
    assert (job.exit_code, [process.heard for process in world.processes]) == (0, [[b"renew"], [b"task"]])
    assert not (await world.task()).reused


async def test_a_process_that_dies_before_it_was_told_its_task_is_not_started_again(world: World) -> None:
    job = asyncio.create_task(world.task())
    await asyncio.sleep(START_S / 2)
    world.processes[0].prints(b"no such model", "stderr")
    world.processes[0].exits(1)
    assert ((await job).exit_code, (await job).output, len(world.processes)) == (1, [b"no such model\n"], 1)


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
    world.slots.slots.append(FakeSlot(0))
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
    await asyncio.sleep(RENEWAL_S + START_S + 1)
    handle.kill()
    await asyncio.sleep(1)
    assert world.processes[1].heard == [b"renew", b"task", b"look at the tests"]


async def test_starts_that_hang_hold_up_no_other_kind_for_long(world: World) -> None:
    world.says = world.renews = b""  # nothing is ever heard of them
    hung = [asyncio.create_task(world.task(renewal=FakeRenewal("hung"))) for _ in range(2)]
    await asyncio.sleep(START_S + 0.1)
    world.says = world.renews = STATE
    await world.task(renewal=FakeRenewal("sound"))
    assert asyncio.get_running_loop().time() < STARTING_S + START_S + 1
    assert not any(task.done() for task in hung)
    for process in world.processes:
        process.exits(1)
    await asyncio.gather(*hung)


async def test_a_process_that_cannot_be_started_leaves_no_name_of_its_run_behind(world: World) -> None:
    world.fails = True
    with pytest.raises(SpawnFailed):
        await world.task()
    assert world.agents.instructions._folder is not None
    assert not list(world.agents.instructions._folder.glob("*.jsonl"))


def test_instructions_are_never_half_there_for_those_who_read_them_meanwhile() -> None:
    instructions, text = Instructions(), b"Be brief. " * 100_000
    renewal = FakeRenewal(instructions={"prompt.md": text})
    prompt = instructions.folder_for(renewal) / "prompt.md"
    prompt.write_bytes(b"Somebody has changed them.")
    with prompt.open("rb") as reader:
        assert instructions.folder_for(renewal) == prompt.parent
        assert reader.read() == b"Somebody has changed them."
    assert prompt.read_bytes() == text
    before = prompt.stat().st_ino
    instructions.folder_for(renewal)
    assert prompt.stat().st_ino == before, "what says the same is left alone"
    instructions.close()


async def test_an_agent_whose_first_run_cannot_be_hidden_gets_no_other_and_ends_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    first = asyncio.create_task(world.task(1))
    await asyncio.sleep(START_S + 0.5)
    monkeypatch.setattr(Path, "unlink", refuse)
    await first
    await asyncio.sleep(0.1)
    assert world.processes[0].gone
    assert not (await world.task()).reused


async def test_a_host_whose_folder_was_tidied_away_makes_another(world: World) -> None:
    renewal = FakeRenewal(instructions={"prompt.md": b"Be brief."})
    await world.task(renewal=renewal)
    folder = world.agents.instructions._folder
    assert folder is not None
    shutil.rmtree(folder)
    assert [(await world.task(renewal=renewal)).reused for _ in range(2)] == [False, True]


def test_what_a_killed_program_left_without_a_name_is_removed_later(tmp_path: Path) -> None:
    old, fresh = runtime_dir() / "new-old", runtime_dir() / "new-fresh"
    for folder in (old, fresh):
        folder.mkdir()
    os.utime(old, (0, 0))
    instructions = Instructions()
    instructions.name_for(tmp_path)
    instructions.close()
    assert (old.exists(), fresh.exists()) == (False, True)
