"""How the suite judges: what does not hold is said, what is declared is known, and what holds unexpectedly is wrong."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from pi_subagents.conformance import EXCEPTIONS, STORIES, TESTED, Story, Verdict, run_story, suite
from pi_subagents.conformance.exceptions import Known
from pi_subagents.conformance.stage import Broken, Stage, expect
from pi_subagents.errors import InvalidCall
from pi_subagents.harness import Program
from tests.agents import impatient

AGENT, PROGRAM = TESTED["claude"], Program(("claude",), "a test")
KNOWN = min(EXCEPTIONS["claude"])
IMPATIENT = Path(impatient.__file__)


async def holds(stage: Stage) -> None:
    """It holds"""


async def breaks(stage: Stage) -> None:
    """It does not hold"""
    expect(1 > 2, "one is not more than two")


async def is_refused(stage: Stage) -> None:
    """It is refused"""
    raise InvalidCall("not like this")


async def stumbles(stage: Stage) -> None:
    """It fails in a way that nobody thought of"""
    [][0]


async def is_interrupted(stage: Stage) -> None:
    """It is interrupted"""
    raise KeyboardInterrupt


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


def test_a_story_that_fails_in_a_way_nobody_thought_of_is_broken(tmp_path: Path) -> None:
    assert judge(tmp_path, stumbles) == (Verdict.BROKEN, "IndexError: list index out of range")


def test_an_interrupt_ends_the_suite(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        judge(tmp_path, is_interrupted)


def test_a_known_exception_may_break_as_it_is_known_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXCEPTIONS["claude"], 99, Known("it cannot count", "one is not more"))
    assert judge(tmp_path, breaks) == (Verdict.EXCEPTED, "it cannot count")


def test_a_known_exception_excuses_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXCEPTIONS["claude"], 99, Known("it cannot count", "two is not more"))
    assert judge(tmp_path, breaks) == (Verdict.BROKEN, "one is not more than two")


def test_a_story_that_holds_despite_its_known_exception_is_not_as_expected(tmp_path: Path) -> None:
    verdict, reason = judge(tmp_path, holds, KNOWN)
    assert verdict is Verdict.UNEXPECTED
    assert EXCEPTIONS["claude"][KNOWN].reason in reason
    assert [verdict for verdict in Verdict if not verdict.is_fine] == [Verdict.BROKEN, Verdict.UNEXPECTED]


@pytest.mark.parametrize(("options", "verdict"), [((), Verdict.HOLDS), (("--impatient",), Verdict.BROKEN)])
def test_an_agent_that_does_not_wait_for_permission_is_found_out(
    options: tuple[str, ...], verdict: Verdict, tmp_path: Path
) -> None:
    [story] = [story for story in STORIES if story.name == "allowed"]
    program = Program((sys.executable, str(IMPATIENT), *options), "a test")
    result = asyncio.run(run_story(story, TESTED["gemini"], program, os.environ, tmp_path))
    assert (result.verdict, "did not wait" in result.reason) == (verdict, bool(options)), result.reason


def test_nothing_that_a_story_expects_is_taken_for_granted() -> None:
    with pytest.raises(Broken, match="never"):
        expect([], "never")
