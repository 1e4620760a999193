"""One call from its tasks to its results: planned, prepared, queued, seen through; its agents are coroutines."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.clock import now_ms
from pi_subagents.delegation import holders
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.delegation.program_facts import remember_namespace
from pi_subagents.errors import InvalidCall, ProfileError, StoreError
from pi_subagents.fold import RunState, fold
from pi_subagents.harness import Invocation, harness_named
from pi_subagents.models import Reason, Task
from pi_subagents.models import event as ev
from pi_subagents.place import Place
from pi_subagents.runs.run import RunResult
from pi_subagents.store import JOURNAL_FILE, Journal, Pace, is_held, read_journal, request_stop
from pi_subagents.supervisor import Supervisor
from pi_subagents.testing import SCRIPTED_AGENT, FakeProcess, FakeRunner, answer, run_on_virtual_clock
from pi_subagents.testing.fakes import FakeSlot

End = tuple[str, str | None, str | None]
"""Status, reason and sentence."""
CANCELLED: End = ("aborted", "cancelled", "Cancelled")


Meanwhile = Callable[[Delegation], Coroutine[Any, Any, None]]


def now_s() -> float:
    return asyncio.get_running_loop().time()


class Room(FakeRunner):
    """Room for so many agents, each of which answers after as many seconds as the last word of its prompt says."""

    def __init__(self, places: int = 99, close_s: float = 0, **options: Any) -> None:
        super().__init__(self._work, **options)
        self.places = places
        self.close_s = close_s
        self.is_closed = False
        self._room = asyncio.Semaphore(places)
        self.at_work = self.most = 0
        self.told: list[str] = []

    @property
    def free(self) -> int:
        return self._room._value

    async def close(self) -> None:
        await asyncio.sleep(self.close_s)
        self.is_closed = True

    @asynccontextmanager
    async def slot(self, invocation: Invocation) -> AsyncIterator[FakeSlot]:
        await self._room.acquire()
        before = len(self.processes)
        try:
            async with super().slot(invocation) as slot:
                yield slot
        finally:
            if len(self.processes) == before:  # nothing was started
                self._room.release()

    def _start(self, invocation: Invocation, sink: Any) -> FakeProcess:
        process = super()._start(invocation, sink)
        process._life.add_done_callback(lambda _life: self._room.release())
        return process

    async def _work(self, process: FakeProcess) -> int:
        self.told.append(process.invocation.stdin.decode())
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        try:
            await asyncio.sleep(float(self.told[-1].split()[-1]))
        finally:
            self.at_work -= 1
        process.prints(*answer("Done."))
        return 0


@dataclass
class Desk:
    """A project from which calls are made."""

    place: Place
    room: Room = field(default_factory=Room)

    def delegation(self, *prompts: str, **options: Any) -> Delegation:
        tasks = [Task(f"task {number}", prompt) for number, prompt in enumerate(prompts)]
        # In JSON mode an agent is told its prompt as it is, and its end is the end of the run.
        options = {"agents": self.room, "harness": harness_named("pi-json"), **options}
        return Delegation(options.pop("tasks", tasks), place=self.place, **options)

    async def see_through(self, *prompts: str, **options: Any) -> list[RunResult]:
        """Tasks to their ends."""
        return await self.play(self.delegation(*prompts, **options))

    async def play(self, delegation: Delegation, meanwhile: Meanwhile | None = None) -> list[RunResult]:
        """The same, with what others do in the meantime; no run is held afterwards and no slot is taken."""
        others = asyncio.create_task(meanwhile(delegation)) if meanwhile else None
        began = now_s()
        results = await delegation
        self.took_s = now_s() - began
        if others is not None:
            await others
        assert (self.room.free, self.room.at_work) == (self.room.places, 0)
        for result in results:
            assert end_on_disk(result.run_dir) == end_of(result)
        return results

    @property
    def run_dirs(self) -> list[Path]:
        runs = self.place.project / ".pi" / "subagents" / "runs"
        return sorted(path for path in runs.iterdir() if path.name[0] != ".") if runs.exists() else []

    @property
    def ends(self) -> list[End]:
        return list(map(end_on_disk, self.run_dirs))


def end_on_disk(run_dir: Path) -> End:
    """How a run stands by its own journal, without the help of a reader that closes what was lost."""
    assert not is_held(run_dir)
    state = fold(RunState(), read_journal(run_dir / JOURNAL_FILE))
    return state.status.value, state.reason and state.reason.value, state.error


def end_of(result: RunResult) -> End:
    return result.status.value, result.reason and result.reason.value, result.error


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / ".pi").mkdir()
    environ = {"PATH": "/usr/bin:/bin", "PI_AGENT_DIR": str(tmp_path / "agent"), SCRIPTED_AGENT[0]: SCRIPTED_AGENT[1]}
    return Desk(Place.here(tmp_path, environ))


def profile(desk: Desk, name: str, *fields: str) -> None:
    path = desk.place.agent_dir / "agent-profiles" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["---", f"name: {name}", *fields, "---", ""]))


# --- in turn -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tasks", "limit", "rounds"), [(16, 4, 4), (5, 4, 2), (3, 8, 1), (3, 1, 3), (0, 4, 0)])
async def test_no_more_than_the_limit_are_at_work(tasks: int, limit: int, rounds: int, desk: Desk) -> None:
    results = await desk.see_through(*["1"] * tasks, concurrency=limit)
    assert [result.status.value for result in results] == ["completed"] * tasks
    assert (desk.took_s, desk.room.most) == (rounds, min(tasks, limit))


async def test_first_come_first_served_and_results_in_the_order_of_the_tasks(desk: Desk) -> None:
    results = await desk.see_through("5", "1", "3", "1", concurrency=2)
    assert desk.room.told == ["5", "1", "3", "1"]
    assert [result.name for result in results] == ["task 0", "task 1", "task 2", "task 3"]
    assert desk.took_s == 5


async def test_agents_of_one_call_share_the_slots_of_the_machine_and_give_them_back(desk: Desk) -> None:
    desk.room = Room(places=1)
    assert all(result.ok for result in await desk.see_through("1", "1", "1"))
    assert desk.room.most == 1


async def test_one_task_that_cannot_be_run_fails_alone_and_without_an_agent(desk: Desk) -> None:
    tasks = [Task("good", "1"), Task("bad", "1", profile="nobody"), Task("lost", "1", cwd="/nowhere"), Task("too", "1")]
    good, bad, lost, too = await desk.see_through(tasks=tasks)
    assert (good.ok, too.ok, len(desk.room.processes)) == (True, True, 2)
    assert (bad.reason, bad.error) == ("invalid", 'Unknown profile: "nobody". Available profiles: (none)')
    assert (lost.reason, lost.error) == ("invalid", "cwd does not exist: /nowhere")


async def test_a_profile_that_contradicts_itself_fails_the_whole_call_before_anything_is_recorded(desk: Desk) -> None:
    profile(desk, "torn", "tools: [read]", "excludeTools: [bash]")
    with pytest.raises(ProfileError, match="torn"):
        await desk.see_through(tasks=[Task("good", "1"), Task("bad", "1", profile="torn")])
    assert (desk.room.processes, desk.run_dirs) == ([], [])


async def test_a_mistake_of_ours_in_one_run_is_raised_when_the_others_have_ended(desk: Desk) -> None:
    start = desk.room._start

    def fail_for_second(invocation: Invocation, sink: Any) -> FakeProcess:
        if invocation.stdin == b"2":
            raise RuntimeError("nobody thought of this")
        return start(invocation, sink)

    desk.room._start = fail_for_second  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="nobody thought of this"):
        await desk.see_through("1", "2", "9", "9", concurrency=2)
    assert [status for status, _, _ in desk.ends] == ["completed", "queued", "completed", "completed"]
    assert desk.room.free == desk.room.places


async def test_when_one_of_several_cannot_be_supervised_none_stays_open(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = iter([Supervisor])

    def second_fails(*arguments: Any, **options: Any) -> Supervisor:
        if (make := next(made, None)) is None:
            raise RuntimeError("out of order")
        return make(*arguments, **options)

    monkeypatch.setattr(holders, "Supervisor", second_fails)
    with pytest.raises(RuntimeError, match="out of order"):
        await desk.see_through("1", "1")
    assert desk.ends == [("failed", "spawn", "out of order")] * 2


# --- stopped -------------------------------------------------------------------------------------------------


async def test_what_is_stopped_before_it_begins_is_recorded_and_never_starts(desk: Desk) -> None:
    delegation = desk.delegation("1", "1")
    delegation.stop(message="No longer needed")
    delegation.stop(message="Too late")
    results = await desk.play(delegation)
    assert [(result.reason, result.error) for result in results] == [(Reason.CANCELLED, "No longer needed")] * 2
    assert desk.room.processes == []


async def test_a_stop_while_the_records_are_made_is_heeded(desk: Desk) -> None:
    delegation: Delegation = desk.delegation("1", "1", check=lambda _plans, _place: delegation.stop())
    assert list(map(end_of, await desk.play(delegation))) == [CANCELLED] * 2
    assert desk.room.processes == []


@pytest.mark.parametrize("asked", ["here", "by another process"])
async def test_a_run_that_is_stopped_in_the_queue_ends_at_once_and_the_others_go_on(asked: str, desk: Desk) -> None:
    async def stop(delegation: Delegation) -> None:
        await asyncio.sleep(2)
        waiting = delegation.runs[1]
        if asked == "here":
            delegation.stop(waiting.state.session_id, "Not this one")
        else:
            request_stop(waiting.run_dir, "Not this one")
        await asyncio.sleep(1)
        assert waiting.state.status.is_terminal
        assert delegation.runs[0].goes_on

    results = await desk.play(desk.delegation("10", "1", "1", concurrency=1), stop)
    assert [result.status.value for result in results] == ["completed", "aborted", "completed"]
    assert (results[1].error, desk.took_s) == ("Not this one", 11)


async def test_a_run_that_takes_too_long_has_failed_and_the_others_have_not(desk: Desk) -> None:
    tasks = [Task("slow", "1000", timeout=60), Task("endless", "90", timeout=1e308)]
    slow, endless = await desk.see_through(tasks=tasks)
    assert (slow.status, slow.reason, endless.status, desk.took_s) == ("failed", "timeout", "completed", 90)


@pytest.mark.parametrize("cancels", [1, 7])
async def test_a_cancelled_caller_is_answered_when_no_agent_is_left(
    cancels: int, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.room = Room(ignores=("terminate",), close_s=2)
    monkeypatch.setattr(holders, "agents_for", lambda *_: desk.room)
    ends: list[str] = []

    def observe(state: RunState, events: Sequence[ev.Event]) -> None:
        ends.extend(state.name for event in events if isinstance(event, ev.Ended))

    work = asyncio.ensure_future(desk.delegation("100", "100", "100", concurrency=2, agents=None, observer=observe))
    for _ in range(cancels):
        await asyncio.sleep(1)
        work.cancel()
    await asyncio.wait([work])
    assert (work.cancelled(), now_s()) == (True, 8), "so long have agents that ignore the request, and their runner"
    assert desk.ends == [CANCELLED] * 3
    assert sorted(ends) == ["task 0", "task 1", "task 2"]
    assert (len(desk.room.processes), desk.room.free, desk.room.is_closed) == (2, desk.room.places, True)


async def test_whoever_is_cancelled_while_leaving_the_block_waits_all_the_same(desk: Desk) -> None:
    desk.room = Room(ignores=("terminate",))

    async def leave() -> None:
        async with desk.delegation("100") as delegation:
            async for _update in delegation:
                break

    leaving = asyncio.create_task(leave())
    await asyncio.sleep(1)
    leaving.cancel()
    await asyncio.wait([leaving])
    assert (leaving.cancelled(), now_s(), desk.ends) == (True, 5, [CANCELLED])


async def test_leaving_the_block_stops_what_is_still_running(desk: Desk) -> None:
    async with desk.delegation("1", "100") as delegation:
        async for update in delegation:
            if isinstance(update.event, ev.Ended):
                break
    assert now_s() == 1
    assert desk.ends == [("completed", "settled", None), CANCELLED]


def test_a_program_that_fails_while_its_agents_work_leaves_no_run_open(desk: Desk) -> None:
    async def main() -> None:
        work = asyncio.ensure_future(desk.delegation("100", "100", "100", concurrency=1)._begin())
        await asyncio.sleep(1)
        assert not work.done()
        raise RuntimeError("a mistake of the program's own")

    with pytest.raises(RuntimeError, match="of the program's own"):
        run_on_virtual_clock(main())
    assert desk.ends == [CANCELLED] * 3


# --- providers and slots -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stopped", [True, False])
async def test_a_run_that_its_provider_holds_back_has_no_slot_and_stopping_it_takes_none(
    stopped: bool, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.room = Room(places=1)
    profile(desk, "busy", "provider: acme", "model: large")
    begun = now_ms()

    class OnVirtualClock(Supervisor):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            now = lambda: begun + int(asyncio.get_running_loop().time() * 1000)  # noqa: E731
            super().__init__(*arguments, **options, now_ms=now)

    monkeypatch.setattr(holders, "Supervisor", OnVirtualClock)
    Pace(desk.place.agent_dir).slow_down("acme", begun + 60_000, begun)

    async def look(delegation: Delegation) -> None:
        await asyncio.sleep(5)
        held, free = delegation.runs
        assert (held.state.status, free.state.status) == ("queued", "running")
        await asyncio.sleep(10)
        assert (free.state.status, desk.room.free) == ("completed", 1)
        if stopped:
            delegation.stop(held.state.session_id)
            assert held.state.status == "aborted"

    held, free = await desk.play(desk.delegation(tasks=[Task("held", "1", profile="busy"), Task("free", "10")]), look)
    assert (free.ok, held.ok, desk.room.most) == (True, not stopped, 1)
    assert desk.took_s == pytest.approx(15 if stopped else 61, abs=1.5)


# --- sessions ------------------------------------------------------------------------------------------------


async def test_a_resumed_session_is_retold_and_gets_another_run(desk: Desk) -> None:
    (first,) = await desk.see_through("Remember 1")
    (second,) = await desk.see_through(tasks=[Task("again", "And 2", resume=first.session_id)])
    assert (second.ok, second.session_id) == (True, first.session_id)
    assert second.run_id > first.run_id
    assert desk.room.told[-1].startswith("Previously:\n\nUser: Remember 1\n\nAssistant: Done.")
    (third,) = await desk.see_through(tasks=[Task("again", "And 3", resume=first.session_id)])
    assert third.run_id > second.run_id, "nobody has a claim on the session any more"


async def test_a_session_that_is_resumed_twice_in_one_call_starts_nothing(desk: Desk) -> None:
    (first,) = await desk.see_through("1")
    with pytest.raises(InvalidCall, match=first.session_id):
        await desk.see_through(tasks=[Task(name, "1", resume=first.session_id) for name in "ab"])
    assert len(desk.run_dirs) == 1


# --- what survives a power cut -------------------------------------------------------------------------------


async def test_the_record_is_on_the_disk_before_the_agent_works_before_its_result_and_after_its_end(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_namespace("auto", desk.place)  # as an earlier call did
    synced: list[str] = []
    await desk.see_through("1")  # what is found out about the machine is kept, too, but once
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(Path(f"/proc/self/fd/{fd}").readlink().name))
    await desk.see_through("1")
    journal = JOURNAL_FILE
    assert [name for name in synced if "result" not in name] == ["runs", journal, journal, journal]
    assert [name == journal for name in synced] == [False, True, True, False, True], "the result comes before the end"


# --- what is told --------------------------------------------------------------------------------------------


async def test_every_end_is_told_once_after_it_is_recorded_and_in_the_same_way_to_whoever_iterates(desk: Desk) -> None:
    told: list[tuple[str, ev.Event]] = []

    def observe(state: RunState, events: Sequence[ev.Event]) -> None:
        (run_dir,) = [path for path in desk.run_dirs if path.name == state.run_id]
        written = list(read_journal(run_dir / JOURNAL_FILE))
        assert all(event in written for event in events)
        told.extend((state.name, event) for event in events)

    tasks = [Task("good", "1"), Task("slow", "100", timeout=10), Task("bad", "1", profile="nobody")]
    delegation = desk.delegation(tasks=tasks, observer=observe)
    assert [(update.state.name, update.event) async for update in delegation] == told
    finals = [(name, event.status.value) for name, event in told if isinstance(event, ev.Ended)]
    assert sorted(finals) == [("bad", "failed"), ("good", "completed"), ("slow", "failed")]


async def test_a_journal_that_cannot_be_written_fails_its_run_alone_and_whoever_looks_on_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, full = Journal.append, StoreError("cannot write the journal: No space left on device")
    told: dict[str, list[str]] = {}

    def fail_in_one(journal: Journal, events: Sequence[ev.Event]) -> None:
        if isinstance(events[0], ev.Started) and journal.path.parent == desk.run_dirs[0]:
            raise full
        append(journal, events)

    def observe(state: RunState, _: Sequence[ev.Event]) -> None:
        told.setdefault(state.name, []).append(state.status.value)

    monkeypatch.setattr(Journal, "append", fail_in_one)
    broken, fine = await desk.delegation("100", "1", observer=observe)
    assert (broken.status, broken.reason, broken.error, fine.ok) == ("failed", "record", str(full), True)
    assert told["task 0"] == ["failed"]
    assert desk.room.free == desk.room.places
