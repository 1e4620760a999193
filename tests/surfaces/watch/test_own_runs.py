"""Sessions that go on inside `watch`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.planning import Place
from pi_subagents.surfaces.watch.own_runs import OwnRuns
from pi_subagents.testing import SCRIPTED_AGENT
from tests.session_kit import Shelf


async def test_the_session_that_was_selected_goes_on_though_the_project_at_hand_has_one_of_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_AGENT_DIR", str(tmp_path / "agent"))
    monkeypatch.setenv(*SCRIPTED_AGENT)
    here, there = (Shelf(tmp_path / name, tmp_path / "agent") for name in ("here", "there"))
    mine = here.add(age_s=9)
    selected = there.add(session_id=mine.session_id, age_s=8)
    own_runs = OwnRuns(Place.here(here.project))
    await own_runs.resume(selected.run_dir, "Go on")
    await own_runs.stop()
    assert (len(here.runs), len(there.runs)) == (1, 2)
