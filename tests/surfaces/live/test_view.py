"""The view around its drawing: whatever happens to it, the work goes on and the terminal is given back."""

from __future__ import annotations

import asyncio
import io
import logging
import re
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.fold import RunState, fold
from pi_subagents.settings import Settings
from pi_subagents.surfaces.live import LiveView
from pi_subagents.surfaces.live import view as view_module
from pi_subagents.surfaces.live.keys import Key
from pi_subagents.surfaces.live.screen import diverted_stderr
from tests.kit.waiting import until_async
from tests.progress.windows_kit import COMPLETED, CREATED, STARTED, assistant


class _Stream(io.StringIO):
    """Looks like a terminal, as far as the view asks."""

    broken = False
    refused = 0

    def write(self, text: str) -> int:
        if self.broken:
            self.refused += 1
            raise OSError("the terminal is gone")
        return super().write(text)


def delegation_of(*states: RunState, total: int | None = None) -> Delegation:
    runs = [SimpleNamespace(state=state) for state in states]
    fake = SimpleNamespace(runs=runs, settings=Settings(), concurrency=4, task_count=total or len(states), stop=None)
    return cast(Delegation, fake)


def state_of() -> RunState:
    return fold(RunState(), [CREATED])


def happened(view: LiveView, state: RunState, *events: Any) -> None:
    fold(state, events)
    view.observe(state, events)


async def until(stream: io.StringIO, text: str) -> None:
    await until_async(lambda: text in stream.getvalue(), f"{text!r} is drawn", stream.getvalue)


async def test_what_happens_is_drawn_and_the_end_is_kept() -> None:
    stream, state = _Stream(), state_of()
    view = LiveView(stream)
    async with view.showing(delegation_of(state)):
        happened(view, state, STARTED, assistant("I am at it."))
        await until(stream, "I am at it.")
        happened(view, state, COMPLETED)
    ending = stream.getvalue()
    assert "✓" in ending.rpartition("I am at it.")[2]
    assert ending.endswith("\x1b[?25h")


@pytest.mark.parametrize(("same_terminal", "ending"), [(True, "s\n\n"), (False, "s\n")])
async def test_a_blank_line_follows_only_where_the_answers_do(
    same_terminal: bool, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, state = _Stream(), state_of()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: same_terminal)
    view = LiveView(stream)
    async with view.showing(delegation_of(state)):
        happened(view, state, STARTED, COMPLETED)
    shown = re.sub(r"\x1b\[[?\d;]*\w", "", stream.getvalue()).replace("\r", "")
    assert shown.endswith(ending)


async def test_an_exception_in_the_block_leaves_a_sane_terminal() -> None:
    stream, state = _Stream(), state_of()
    view = LiveView(stream)

    async def crash() -> None:
        async with view.showing(delegation_of(state)):
            happened(view, state, STARTED)
            await until(stream, "build")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await crash()
    assert stream.getvalue().endswith("\x1b[?25h")


async def test_a_terminal_that_is_gone_ends_the_drawing_and_nothing_else() -> None:
    stream, state = _Stream(), state_of()
    view = LiveView(stream)
    async with view.showing(delegation_of(state)):
        happened(view, state, STARTED)
        await until(stream, "build")
        stream.broken = True
        happened(view, state, assistant("Nobody sees this."))
        await until_async(lambda: stream.refused, "the view has tried to draw")
        happened(view, state, COMPLETED)


async def test_a_mistake_in_the_view_is_logged_and_ends_only_the_view(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_scene: object) -> list[Any]:
        raise ZeroDivisionError

    monkeypatch.setattr(view_module, "compose", fail)
    stream, state = _Stream(), state_of()
    view = LiveView(stream)
    async with view.showing(delegation_of(state)):
        happened(view, state, STARTED)
        await until_async(lambda: caplog.records, "the mistake is logged")
        happened(view, state, COMPLETED)
    assert "the live view failed; the runs continue without it" in caplog.text
    assert stream.getvalue().endswith("\x1b[?25h")


async def test_there_are_at_most_twenty_frames_a_second() -> None:
    stream, state = _Stream(), state_of()
    view = LiveView(stream)
    async with view.showing(delegation_of(state)):
        happened(view, state, STARTED)
        loop = asyncio.get_running_loop()
        start = loop.time()
        for number in range(200):
            happened(view, state, assistant(f"line {number}"))
            await asyncio.sleep(0.002)
        took = loop.time() - start
        frames = stream.getvalue().count("\x1b[?2026h")
    assert 1 <= frames <= took / view_module.FRAME_S + 2


async def test_what_others_write_to_stderr_appears_above_the_frame_and_half_a_line_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stream, state = _Stream(), state_of()
    logger = logging.getLogger("pi_subagents")
    handler = logging.StreamHandler(sys.stderr)
    logger.addHandler(handler)
    real = sys.stderr
    try:
        view = LiveView(stream)
        async with view.showing(delegation_of(state)):
            happened(view, state, STARTED)
            await until(stream, "build")
            logger.error("the disk is full\x1b[2J")
            sys.stderr.write("half a line")
            await until(stream, "the disk is full")
        assert "the disk is full\r\n" in stream.getvalue()
        assert "\x1b[2J" not in stream.getvalue()
    finally:
        logger.removeHandler(handler)
    assert sys.stderr is real
    assert handler.stream is real
    assert capsys.readouterr().err == "half a line\n"


def test_diverted_lines_are_given_once_and_an_unfinished_one_at_the_end() -> None:
    with diverted_stderr() as kept:
        sys.stderr.write("one\ntw")
        assert kept.take() == ["one"]
        sys.stderr.write("o\nthree")
        assert kept.take() == ["two"]
        assert kept.take() == []
    assert kept.take_all() == ["three"]
    assert kept.take_all() == []


async def test_while_a_question_is_open_every_key_is_an_answer_to_it() -> None:
    detached: list[str] = []
    state = state_of()
    view = LiveView(_Stream(), detach=lambda: detached.append("d"))
    async with view.showing(delegation_of(state)):
        happened(view, state, STARTED)
        for key, asked_for in ((Key.STOP, 0), (Key.DETACH, 0), (Key.DETACH, 1)):
            view._pressed(key)
            assert len(detached) == asked_for


async def test_a_run_that_goes_on_by_itself_is_left_with_d_as_with_q() -> None:
    left: list[Key] = []
    state = state_of()
    for key in (Key.QUIT, Key.DETACH):
        view = LiveView(_Stream(), leave=partial(left.append, key))
        async with view.showing(delegation_of(state)):
            happened(view, state, STARTED)
            view._pressed(key)
    assert left == [Key.QUIT, Key.DETACH]
