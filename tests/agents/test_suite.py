"""How the suite judges: what does not hold is said, what is declared is known, and what holds unexpectedly is wrong."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pi_subagents.conformance import EXCEPTIONS, TESTED, Story, Verdict, run_story, suite
from pi_subagents.conformance.stage import Broken, Stage, expect
from pi_subagents.errors import InvalidCall
from pi_subagents.harness import Program

AGENT, PROGRAM = TESTED["claude"], Program(("claude",), "a test")
KNOWN = min(EXCEPTIONS["claude"])


async def holds(stage: Stage) -> None:
    """It holds"""


async def breaks(stage: Stage) -> None:
    """It does not hold"""
    expect(1 > 2, "one is not more than two")


async def is_refused(stage: Stage) -> None:
    """It is refused"""
    raise InvalidCall("not like this")


async def never_ends(stage: Stage) -> None:
    """It never ends"""
    await asyncio.Event().wait()


def judge(folder: Path, tell: object, number: int = 99) -> tuple[Verdict, str]:
    story = Story(number, tell)  # type: ignore[arg-type]  # whichever of those above
    result = asyncio.run(run_story(story, AGENT, PROGRAM, os.environ, folder))
    return result.verdict, result.reason


def test_what_holds_holds(tmp_path: Path) -> None:
    assert judge(tmp_path, holds) == (Verdict.HOLDS, "")


def test_what_does_not_hold_is_said(tmp_path: Path) -> None:
    assert judge(tmp_path, breaks) == (Verdict.BROKEN, "one is not more than two")


def test_a_task_that_is_refused_breaks_a_story(tmp_path: Path) -> None:
    assert judge(tmp_path, is_refused) == (Verdict.BROKEN, "InvalidCall: not like this")


def test_a_story_that_does_not_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "STORY_S", 0.05)
    assert judge(tmp_path, never_ends) == (Verdict.BROKEN, "it took longer than 0.05 s")


def test_a_declared_exception_may_break_and_must_not_hold(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert judge(tmp_path / "one", breaks, KNOWN) == (Verdict.EXCEPTED, EXCEPTIONS["claude"][KNOWN])
    verdict, reason = judge(tmp_path / "two", holds, KNOWN)
    assert verdict is Verdict.UNEXPECTED
    assert EXCEPTIONS["claude"][KNOWN] in reason
    assert [verdict for verdict in Verdict if not verdict.is_fine] == [Verdict.BROKEN, Verdict.UNEXPECTED]


def test_nothing_that_a_story_expects_is_taken_for_granted() -> None:
    with pytest.raises(Broken, match="never"):
        expect([], "never")
