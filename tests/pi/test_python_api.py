"""The Python API as a program uses it, with real agents behind it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi_subagents import AgentNotFound, ProfileError, Reason, Status, Task, delegate
from pi_subagents.models.event import Delta, Ended, Started
from pi_subagents.offline import Call, Hang, Say, Script, Turn
from tests.pi.stage import WAIT_S, Play, Stage, processes_below


def enter(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the stage's environment that of this process, as it is for a program that imports the package."""
    for name, value in stage.environ.items():
        monkeypatch.setenv(name, value)
    return stage.project


async def test_awaiting_gives_a_typed_result_for_every_task_in_order(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = play(Script().when("slow", [Turn("Slow.", delay_s=0.5)]).otherwise([Say("Quick.")]))
    project = enter(stage, monkeypatch)
    slow, quick, bad = await delegate(
        [Task("a", "slow"), Task("b", "quick"), Task("c", "x", profile="no")], cwd=project
    )
    assert [(r.name, r.output, r.ok) for r in (slow, quick)] == [("a", "Slow.", True), ("b", "Quick.", True)]
    assert (bad.ok, bad.status, bad.reason) == (False, Status.FAILED, Reason.INVALID)
    assert (slow.exit_code, slow.provider, slow.model, slow.error) == (0, "offline", "scripted", None)
    assert slow.duration_s > 0.5
    assert (slow.run_dir / "result.json").is_file()


async def test_iterating_shows_what_happens_while_it_happens(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    hello = Turn("Hello, dear world.", chunks=6, chunk_delay_s=0.2)
    stage = play(Script().otherwise([hello]))
    delegation = delegate([Task("t", "Go.")], cwd=enter(stage, monkeypatch))
    updates, texts = [], []
    async with asyncio.timeout(WAIT_S):
        async for update in delegation:
            assert update.state.name == "t"
            updates.append(update.event)
            texts.append(update.state.text)
    assert isinstance(updates[0], Started)
    assert isinstance(updates[-1], Ended)
    assert sum(isinstance(event, Delta) for event in updates) > 1
    assert len(set(texts) - {""}) > 2  # the text grew before our eyes
    (result,) = delegation.results
    assert (result.output, result.ok) == ("Hello, dear world.", True)
    assert await delegation == [result]


@pytest.mark.parametrize("error", [None, RuntimeError("the program's own")])
async def test_leaving_the_block_early_stops_what_still_runs(
    play: Play, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    stage = play(Script().otherwise([Hang("Thinking")]))
    delegation = delegate([Task("t", "Go."), Task("u", "Go.")], cwd=enter(stage, monkeypatch), concurrency=1)

    async def look_and_leave() -> None:
        async with delegation:
            async for update in delegation:
                if update.state.text:
                    if error is not None:
                        raise error
                    return

    async with asyncio.timeout(WAIT_S):
        if error is None:
            await look_and_leave()
        else:
            with pytest.raises(RuntimeError, match="own"):
                await look_and_leave()
    assert [result.reason for result in delegation.results] == [Reason.CANCELLED] * 2
    assert processes_below(stage.project) == []


async def test_a_callers_mistake_is_an_exception_and_starts_nothing(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = play(Script())
    stage.write_profile("bad", "tools: read", "excludeTools: bash")
    project = enter(stage, monkeypatch)
    with pytest.raises(ProfileError, match="mutually exclusive"):
        await delegate([Task("t", "Go.", profile="bad")], cwd=project)
    monkeypatch.delenv("PI_SUBAGENTS_PI")
    monkeypatch.setenv("PI_SUBAGENTS_DATA_DIR", str(stage.root / "empty"))
    monkeypatch.setenv("PATH", str(stage.root))
    with pytest.raises(AgentNotFound, match="Run: pi-subagents setup"):
        await delegate([Task("t", "Go.")], cwd=project)
    assert stage.run_dirs == []


async def test_a_watcher_that_fails_costs_nobody_a_result(play: Play) -> None:
    stage = play(Script().otherwise([Call("bash", {"command": "echo hi"}), Say("Done.")]))

    def observe(*_: object) -> None:
        raise ValueError("a broken window")

    (result,) = await stage.delegate(Task("t", "Go."), observer=observe)
    assert (result.ok, result.output) == (True, "Done.")
