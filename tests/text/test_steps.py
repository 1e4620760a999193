"""Long steps: what people read while one takes its time, on a terminal and in a log."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace

import pytest

from pi_subagents.text import steps
from pi_subagents.text.steps import Steps
from tests.kit.waiting import until


@pytest.fixture(autouse=True)
def _stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """No second passes, however busy the machine is: what is said of the time is as exact as all the rest."""
    monkeypatch.setattr(steps, "time", SimpleNamespace(monotonic=lambda: 0.0))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_a_line_at_once_and_another_with_the_seconds_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert steps._LOG_PAUSE_S < 3
    monkeypatch.setattr(steps, "_LOG_PAUSE_S", 0.01)
    log = io.StringIO()
    with Steps(log, "setup: ").step("fetching pi"):
        assert log.getvalue().startswith("setup: fetching pi\n")
        until(lambda: log.getvalue().count("\n") > 2)
    lines = log.getvalue().splitlines()
    assert set(lines[1:]) == {"setup: … (0 s)"}
    assert "\r" not in log.getvalue()


def test_on_a_terminal_one_line_moves_and_what_is_said_meanwhile_stands_above_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    terminal = Terminal()
    told = Steps(terminal, "setup: ")
    with told.step("fetching pi from a far away place"):
        until(lambda: len(set(re.findall(r"\r\x1b\[2K([|/\\-])", terminal.getvalue()))) > 1)
        told.say("npm lacks packages")
    assert _rows(terminal) == ["setup: npm lacks packages", "setup: fetching pi from a far away place (0 s)", ""]
    moving = re.findall(r"\r\x1b\[2K([|/\\-] [^\r\n]*)", terminal.getvalue())
    assert {len(line) for line in moving} == {29}  # one more would begin another row


def _rows(terminal: Terminal) -> list[str]:
    """What stays on the screen: of every line, what came after it was last cleared."""
    return [line.rpartition("\r\x1b[2K")[2] for line in terminal.getvalue().split("\n")]


def test_a_step_that_fails_is_told_too_and_its_error_goes_on() -> None:
    log = io.StringIO()
    with pytest.raises(OSError, match="full"), Steps(log, "").step("writing"):
        raise OSError("full")
    assert log.getvalue() == "writing\n"


def test_of_a_brief_step_nothing_is_left_unless_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    log, terminal = io.StringIO(), Terminal()
    for stream in (log, terminal):
        with Steps(stream, "").step("looking", brief=True):
            pass
    assert log.getvalue() == ""
    assert _rows(terminal) == [""]
    monkeypatch.setattr(steps, "_LOG_PAUSE_S", 0.01)
    with Steps(log, "").step("looking", brief=True):
        until(log.getvalue)
    assert log.getvalue().startswith("looking (0 s)\n")
