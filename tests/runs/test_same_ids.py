"""The same id in two projects, by a copy or by design: each project has its own, and none takes the other's place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pi_subagents.errors import InvalidCall
from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.runs.background import Registry
from pi_subagents.runs.retention import Rule, find_dispensable, remove
from pi_subagents.runs.sessions import Sessions, find_run_dir, find_session
from pi_subagents.store import load_run
from tests.kit.sessions import Kept, Shelf

SESSION = "a3f7b9c2d1e8f4a1"


@pytest.fixture
def copy(shelf: Shelf, tmp_path: Path) -> Shelf:
    """Another project, with a finished record under the id of a run that is alive here, and listed there."""
    live = shelf.add(name="alive", session_id=SESSION, ends=None)
    copy = Shelf(tmp_path / "copy", shelf.agent_dir)
    finished = copy.add(name="finished", session_id=SESSION)
    finished.run_dir.rename(finished.run_dir.with_name(live.run_dir.name))
    (runs_dir(copy.project) / ".sessions" / SESSION).unlink()
    copy.index.rebuild()
    copy.listed()
    return copy


def elsewhere(shelf: Shelf) -> Place:
    folder = shelf.project.parent / "elsewhere"
    folder.mkdir(exist_ok=True)
    return Place(folder, shelf.agent_dir, {})


def test_a_run_of_the_project_at_hand_is_found_and_not_another_with_its_id(shelf: Shelf, copy: Shelf) -> None:
    (live,) = shelf.folder.glob(f"*-{SESSION}")
    theirs = runs_dir(copy.project) / live.name
    for text in (live.name, live.name[:20], SESSION):
        assert find_run_dir(shelf.place, text) == live
        assert find_run_dir(copy.place, text) == theirs


def test_both_are_listed_each_in_its_project_and_all_together(shelf: Shelf, copy: Shelf) -> None:
    for _ in range(2):
        assert [(session.state.name, session.state.status) for session in shelf.listed()] == [("alive", Status.RUNNING)]
        assert [(one.state.name, one.state.status) for one in copy.listed()] == [("finished", Status.COMPLETED)]
        for here in (shelf, copy):
            assert {session.state.name for session in here.listed(project=None)} == {"alive", "finished"}


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "disk"])
def test_from_elsewhere_an_id_in_two_places_is_ambiguous_and_both_are_named(
    shelf: Shelf, copy: Shelf, with_index: bool
) -> None:
    if not with_index:
        shelf.lose_index()
    run_id = next(shelf.folder.glob(f"*-{SESSION}")).name
    for text in (run_id, SESSION, SESSION[:8]) if with_index else (SESSION,):
        with pytest.raises(InvalidCall) as caught:
            find_run_dir(elsewhere(shelf), text)
        assert str(shelf.project) in str(caught.value)
        assert str(copy.project) in str(caught.value)
    with pytest.raises(InvalidCall):
        Sessions(elsewhere(shelf)).find(SESSION)


def test_two_paths_to_one_project_are_no_two_places(shelf: Shelf, tmp_path: Path) -> None:
    kept = shelf.add(name="one", session_id=SESSION)
    (tmp_path / "link").symlink_to(shelf.project)
    linked = Shelf(tmp_path / "link", shelf.agent_dir)
    assert [session.state.name for session in linked.listed()] == ["one"]
    assert [session.state.name for session in linked.listed(project=None)] == ["one"]
    for text in (kept.run_dir.name, SESSION, SESSION[:6]):
        assert find_run_dir(elsewhere(shelf), text).resolve() == kept.run_dir
    shelf.lose_index()
    assert [session.state.name for session in linked.listed(project=None)] == ["one"]


def test_a_copy_of_a_project_that_goes_on_hides_nothing_of_the_original(shelf: Shelf, tmp_path: Path) -> None:
    shelf.add(name="original", session_id=SESSION, age_s=9)
    shutil.copytree(shelf.project, tmp_path / "copy", symlinks=True)
    copy = Shelf(tmp_path / "copy", shelf.agent_dir)
    assert [session.state.name for session in copy.listed()] == ["original"]
    copy.add(name="went on", session_id=SESSION, age_s=3)
    for _ in range(2):
        assert [(session.state.name, session.run_count) for session in copy.listed()] == [("went on", 2)]
        assert [(session.state.name, session.run_count) for session in shelf.listed()] == [("original", 1)]


def test_what_is_deleted_in_a_copy_stays_known_in_the_original(shelf: Shelf, tmp_path: Path) -> None:
    kept = shelf.add(name="original", session_id=SESSION)
    shutil.copytree(shelf.project, tmp_path / "copy", symlinks=True)
    copy = Shelf(tmp_path / "copy", shelf.agent_dir)
    copy.listed()
    for session in list(find_dispensable(copy.project, Rule())):
        remove(session, copy.agent_dir)
    assert [row["run_dir"] for row in shelf.index.rows()] == [str(kept.run_dir)]
    assert find_session(elsewhere(shelf), SESSION).id == SESSION


def test_a_page_of_sessions_may_end_between_two_of_the_same_id(
    shelf: Shelf, copy: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pi_subagents.runs.listing._PAGE", 1)
    assert {session.state.name for session in shelf.listed(project=None)} == {"alive", "finished"}


def in_background(shelf: Shelf, kept: Kept) -> RunState:
    """Have a run of the shelf count as one in the background."""
    journal = kept.run_dir / "events.jsonl"
    journal.write_text(journal.read_text().replace('"sessionId"', '"background":true,"owner":"me","sessionId"', 1))
    state = load_run(kept.run_dir)
    assert state.background
    shelf.index.record(shelf.project, {kept.run_dir: state})
    return state


def test_a_background_run_is_that_of_the_project_at_hand(shelf: Shelf, tmp_path: Path) -> None:
    kept = shelf.add(name="mine", session_id=SESSION)
    in_background(shelf, kept)
    shutil.copytree(shelf.project, tmp_path / "copy", symlinks=True)
    copy = Shelf(tmp_path / "copy", shelf.agent_dir)
    copy.listed()
    for here in (shelf, copy):
        found = Registry(here.place, "me").find(kept.run_dir.name)
        assert found is not None
        assert found.run_dir == runs_dir(here.project) / kept.run_dir.name
    with pytest.raises(InvalidCall, match=str(copy.project)):
        Registry(elsewhere(shelf), "me").find(kept.run_dir.name)
