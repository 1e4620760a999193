"""What is deleted without anybody asking: only what a setting lets go, once a day, and never at the cost of a run."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

from pi_subagents.clock import now_ms
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.fold import RunState
from pi_subagents.models import Task
from pi_subagents.models import event as ev
from pi_subagents.runs import retention
from pi_subagents.runs.retention import Dispensable, Rule, apply_retention, find_dispensable
from pi_subagents.runs.run import RunResult
from pi_subagents.settings import Settings
from pi_subagents.store import load_run
from pi_subagents.trust import Decisions
from tests.kit.sessions import DAY_S, HOUR_S, Shelf
from tests.kit.waiting import until_async


@pytest.fixture
def shelf(shelf_here: Shelf) -> Shelf:
    Decisions(shelf_here.agent_dir).trust(shelf_here.project)
    return shelf_here


def keep_for_a_month(shelf: Shelf) -> None:
    (shelf.project / ".pi" / "settings.json").write_text('{"subagents": {"keepRunsDays": 30}}')
    shelf.folder.mkdir(parents=True, exist_ok=True)


def dispensable(shelf: Shelf, *, older_than_s: float | None = None, keep: int = 0) -> list[str]:
    before = None if older_than_s is None else now_ms() - int(older_than_s * 1000)
    return [session.name for session in find_dispensable(shelf.project, Rule(before, keep))]


def apply(shelf: Shelf, **settings: int) -> list[str]:
    apply_retention(shelf.project, shelf.agent_dir, Settings(**settings))  # type: ignore[arg-type]  # whole numbers all
    return [row["name"] for row in reversed(shelf.index.rows())]


def test_age_counts_from_the_latest_run_and_a_session_goes_as_a_whole(shelf: Shelf) -> None:
    shelf.add(name="old", age_s=40 * DAY_S)
    resumed = shelf.add(name="old but resumed", age_s=40 * DAY_S - 1)
    shelf.add(name="resumed", age_s=DAY_S, session_id=resumed.session_id)
    shelf.add(name="new", age_s=HOUR_S)
    assert dispensable(shelf, older_than_s=30 * DAY_S) == ["old"]


def test_the_newest_stay_whatever_their_age(shelf: Shelf) -> None:
    for days in (50, 40, 35):
        shelf.add(name=f"{days} days", age_s=days * DAY_S)
    shelf.add(name="today", age_s=HOUR_S)
    assert dispensable(shelf, keep=2) == ["50 days", "40 days"]
    assert dispensable(shelf, older_than_s=45 * DAY_S, keep=1) == ["50 days"]
    assert dispensable(shelf, older_than_s=30 * DAY_S, keep=3) == ["50 days"]


def test_a_long_run_is_as_old_as_its_end(shelf: Shelf) -> None:
    kept = shelf.add(name="long", age_s=40 * DAY_S, ends=None)
    kept.end(at=now_ms() - DAY_S * 1000)
    assert dispensable(shelf, older_than_s=30 * DAY_S) == []


def test_a_running_session_is_never_let_go(shelf: Shelf) -> None:
    first = shelf.add(name="running", age_s=40 * DAY_S)
    shelf.add(name="running", age_s=39 * DAY_S, session_id=first.session_id, ends=None)
    assert dispensable(shelf, older_than_s=DAY_S) == []


def test_a_lost_run_is_closed_and_is_as_old_as_its_beginning(shelf: Shelf) -> None:
    last_heard = ev.Stderr(at=now_ms() - DAY_S * 1000, text="on my way")
    kept = shelf.add(last_heard, name="lost", age_s=40 * DAY_S, ends=None)
    kept.let_go()
    assert dispensable(shelf, older_than_s=30 * DAY_S) == ["lost"]


def test_young_sessions_are_not_even_opened(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.add(name="old", age_s=2 * DAY_S)
    shelf.add(name="young", age_s=HOUR_S)
    opened: list[str] = []

    def watched(run_dir: Path) -> RunState:
        opened.append(run_dir.name)
        return load_run(run_dir)

    monkeypatch.setattr(retention, "require_removable", watched)
    assert dispensable(shelf, older_than_s=DAY_S) == ["old"]
    assert opened == shelf.runs[:1]


def test_without_a_setting_nothing_is_ever_deleted(shelf: Shelf) -> None:
    shelf.add(name="ancient", age_s=4000 * DAY_S)
    assert apply(shelf) == ["ancient"]
    assert not (shelf.folder / ".retention").exists()


@pytest.mark.parametrize("setting", [{"keep_runs_days": 30}, {"keep_sessions": 2}])
def test_old_runs_and_their_rows_go_when_a_setting_says_so(setting: dict[str, int], shelf: Shelf) -> None:
    for days in (41, 40, 20, 10):
        shelf.add(name=f"{days} days", age_s=days * DAY_S)
    assert apply(shelf, **setting) == ["20 days", "10 days"]
    assert len(shelf.runs) == 2


def test_it_is_done_at_most_once_a_day(shelf: Shelf) -> None:
    shelf.add(name="first", age_s=40 * DAY_S)
    assert apply(shelf, keep_runs_days=30) == []
    shelf.add(name="second", age_s=40 * DAY_S)
    assert apply(shelf, keep_runs_days=30) == ["second"]
    yesterday = time.time() - DAY_S - 1
    os.utime(shelf.folder / ".retention", (yesterday, yesterday))
    assert apply(shelf, keep_runs_days=30) == []


def test_a_clock_that_was_wrong_does_not_put_it_off_for_ever(shelf: Shelf) -> None:
    shelf.add(name="old", age_s=40 * DAY_S)
    stamp = shelf.folder / ".retention"
    stamp.touch()
    os.utime(stamp, (time.time() + 1000 * DAY_S,) * 2)
    assert apply(shelf, keep_runs_days=30) == []


def test_what_cannot_be_deleted_is_no_reason_to_fail(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.add(name="old", age_s=40 * DAY_S)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pi_subagents.store.removal._hide", refuse)
    assert apply(shelf, keep_runs_days=30) == ["old"]


def test_abandoned_drafts_go_too(shelf: Shelf) -> None:
    shelf.add()
    draft = shelf.folder / ".20260101T000000000-feed.new"
    draft.mkdir()
    os.utime(draft, (0, 0))
    apply(shelf, keep_runs_days=30)
    assert not draft.exists()


async def test_a_delegation_tidies_up_after_its_runs(shelf: Shelf) -> None:
    keep_for_a_month(shelf)
    old = shelf.add(name="old", age_s=40 * DAY_S)
    (result,) = await Delegation([Task("new", "Say something")])
    assert result.ok
    await until_async(lambda: not old.run_dir.exists())
    assert shelf.runs == [result.run_dir.name]


def test_a_delegation_and_its_program_do_not_wait_for_tidying_that_never_ends(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = threading.Event()

    def find_none(*_: object) -> list[Dispensable]:
        never.wait()
        return []

    monkeypatch.setattr("pi_subagents.runs.retention.find_dispensable", find_none)
    keep_for_a_month(shelf)
    try:
        (result,) = asyncio.run(_delegate())
        assert result.ok
    finally:
        never.set()


async def _delegate() -> list[RunResult]:
    return list(await Delegation([Task("new", "Say something")]))


async def test_a_delegation_does_not_suffer_from_tidying_that_fails(shelf: Shelf) -> None:
    keep_for_a_month(shelf)
    (shelf.folder / ".retention").mkdir()
    (result,) = await Delegation([Task("new", "Say something")])
    assert result.ok
