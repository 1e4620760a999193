"""A run that others can see is ended by somebody, whatever goes wrong before an agent works on it."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from pi_subagents.background import launch
from pi_subagents.background.queue import start_keeper
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState, fold
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.runners import containment
from pi_subagents.runs.background import Registry
from pi_subagents.store import JOURNAL_FILE, RunRecord, is_held, publish, read_journal
from pi_subagents.testing import answer, prints, script
from pi_subagents.testing.agent import pauses
from pi_subagents.tools import ToolContext, ToolResult, call_tool
from tests.background.kit import BEGIN, PRESET, WAIT_S, Yard
from tests.kit.waiting import until_async

DONE = script(BEGIN, prints(*answer("done")))
CALLS: dict[str, dict[str, Any]] = {
    "background_agent": {"preset": PRESET, "task": DONE},
    "delegate_to_subagents": {"tasks": [{"name": "one", "prompt": DONE}, {"name": "two", "prompt": DONE}]},
}


def ends(yard: Yard) -> list[tuple[str, str | None, str | None]]:
    """How every run stands by its own journal, without the help of a reader that closes what was lost."""
    found = []
    for run_dir in yard.stage.run_dirs:
        state = fold(RunState(), read_journal(run_dir / JOURNAL_FILE))
        assert not is_held(run_dir), "it is held by a process that does nothing with it"
        found.append((state.status.value, state.reason and state.reason.value, state.error))
    return found


async def call(yard: Yard, tool: str, **environ: str) -> ToolResult:
    place = Place.here(yard.stage.project, {**yard.environ, **environ})
    async with asyncio.timeout(WAIT_S):
        return await call_tool(tool, CALLS[tool], ToolContext(place, owner=yard.owner))


@pytest.mark.parametrize("tool", CALLS)
async def test_a_containment_that_there_is_not_is_refused_before_anything_is_recorded(
    tool: str, yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"subagents": {"containment": "namespace"}}
    (yard.stage.project / ".pi" / "settings.json").write_text(json.dumps(settings))
    monkeypatch.setattr(containment, "namespace_works", lambda: False)
    result = await call(yard, tool)
    assert result.is_error
    assert 'subagents.containment is "namespace", but this machine does not allow it' in result.text
    assert yard.stage.run_dirs == []


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("number", [10**40, 1e308])
async def test_absurd_numbers_in_the_settings_do_no_harm(number: float, tool: str, yard: Yard) -> None:
    settings = yard.stage.project / ".pi" / "settings.json"
    settings.write_text(f'{{"subagents": {{"maxProcesses": {number}, "maxBackground": {number}}}}}')
    result = await call(yard, tool)
    assert not result.is_error, result.text
    await _all_over(yard)
    assert {status for status, _, _ in ends(yard)} == {"completed"}


@pytest.mark.parametrize("tool", CALLS)
async def test_a_variable_that_is_no_text_reaches_the_agent(tool: str, yard: Yard) -> None:
    result = await call(yard, tool, ODD="caf\udce9")
    assert not result.is_error, result.text
    await _all_over(yard)
    assert {status for status, _, _ in ends(yard)} == {"completed"}


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("value", ["half \ud800 a character", "a\0b"])
async def test_a_variable_that_no_process_can_have_ends_the_run(value: str, tool: str, yard: Yard) -> None:
    await call(yard, tool, ODD=value)
    await _all_over(yard)
    assert {(status, reason) for status, reason, _ in ends(yard)} == {("failed", "spawn")}


async def _all_over(yard: Yard) -> None:
    def are_over() -> bool:
        return bool(yard.stage.run_dirs) and not any(is_held(run_dir) for run_dir in yard.stage.run_dirs)

    await until_async(are_over)


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (BlockingIOError(11, "no more processes"), ("failed", "record")),
        (OverflowError("too large a number"), ("failed", "record")),
        (RuntimeError("nobody thought of this"), ("failed", "spawn")),
        (KeyboardInterrupt(), ("aborted", "cancelled")),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_run_that_no_keeper_takes_is_over_when_its_launcher_is_told(
    error: BaseException, end: tuple[str, str], yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(launch, "start_keeper", fail)
    with pytest.raises((StoreError, RuntimeError, KeyboardInterrupt)):
        # In this thread, where the interruption would come.
        launch.launch_all([Task("one", DONE), Task("two", DONE)], yard.place, owner=yard.owner)
    assert [(status, reason) for status, reason, _ in ends(yard)] == [end, end]
    assert [run.state.status for run in Registry(yard.place, yard.owner).runs()] == [end[0], end[0]]


async def test_a_run_at_work_is_stopped_when_a_later_one_of_the_call_cannot_be_launched(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def start_one(lease: int, order: int, slot: int) -> None:
        if started:
            raise BlockingIOError(11, "no more processes")
        started.append(lease)
        start_keeper(lease, order, slot)

    monkeypatch.setattr(launch, "start_keeper", start_one)
    with pytest.raises(StoreError, match="no more processes"):
        launch.launch_all([Task("one", script(BEGIN, pauses(WAIT_S))), Task("two", DONE)], yard.place, owner=yard.owner)
    await _all_over(yard)
    assert {(status, reason) for status, reason, _ in ends(yard)} == {("aborted", "cancelled"), ("failed", "record")}


async def test_records_made_while_the_call_is_cancelled_are_ended(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def publish_slowly(*arguments: Any, **options: Any) -> RunRecord:
        begun.set()
        assert goes_on.wait(WAIT_S)
        return publish(*arguments, **options)

    monkeypatch.setattr("pi_subagents.delegation.preparation.publish", publish_slowly)
    work = Delegation([Task("one", DONE), Task("two", DONE)], place=yard.place)._begin()
    await asyncio.to_thread(begun.wait, WAIT_S)
    work.cancel()
    asyncio.get_running_loop().call_later(0.05, goes_on.set)
    with pytest.raises(asyncio.CancelledError):
        await work
    assert ends(yard) == [("aborted", "cancelled", "Cancelled")] * 2
