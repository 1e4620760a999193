"""Calls that go on as background runs: all of their runs are started, or none is left."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from pi_subagents.background.launch import launch
from pi_subagents.delegation.preparation import PreparedRun
from pi_subagents.errors import StoreError
from pi_subagents.place import Place
from pi_subagents.runs.run import Run
from pi_subagents.settings import Settings
from pi_subagents.store import load_run
from pi_subagents.testing import script
from pi_subagents.testing.agent import pauses
from pi_subagents.tools import TOOLS, ToolContext, detached
from tests.kit.waiting import until_async
from tests.process.conftest import plain_stage
from tests.process.kit import Stage

__all__ = ["plain_stage"]


async def test_when_one_run_cannot_be_started_the_others_of_the_call_end_too(
    plain_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[Path] = []

    def launch_one(run: PreparedRun, place: Place, settings: Settings) -> Run:
        if launched:
            raise StoreError("no keeper to be had")
        launched.append(run.record.path)
        return launch(run, place, settings)

    monkeypatch.setattr(import_module("pi_subagents.background.launch"), "launch", launch_one)
    call = {"tasks": [{"name": f"task {n}", "prompt": script(pauses(300))} for n in (1, 2, 3)]}
    context = ToolContext(Place.here(plain_stage.project, plain_stage.full_environ()))
    with pytest.raises(StoreError, match="no keeper to be had"):
        await detached.start_detached_call(TOOLS["delegate_to_subagents"], call, context)
    (first,) = launched
    others = [run_dir for run_dir in plain_stage.run_dirs if run_dir != first]
    assert [load_run(run_dir).status for run_dir in others] == ["failed", "failed"]
    await until_async(lambda: load_run(first).status == "aborted")
    await until_async(lambda: not plain_stage.processes())
