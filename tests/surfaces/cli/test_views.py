"""Progress without windows: a readable line per event, and not a byte that a terminal would obey."""

from __future__ import annotations

import os
import sys

import pytest

from pi_subagents.offline import Call, Fail, Script, Turn
from pi_subagents.surfaces.cli.output import obeys_escapes
from pi_subagents.surfaces.cli.views import PlainView, choose_view
from tests.pi.stage import Play
from tests.surfaces.cli.stand_in import use_stand_in

HOSTILE = "\x1b]0;owned\x07\x1b[2Jname\r\nsecond\x9b31m"


def obeyed(text: str) -> list[str]:
    """The characters that are neither text nor the end of a line."""
    return [char for char in text if (ord(char) < 0x20 and char != "\n") or 0x7F <= ord(char) < 0xA0]


def test_every_event_is_one_line_and_no_byte_is_an_escape(play: Play) -> None:
    script = (
        Script()
        .when("bad", [Fail(400, "\x1b[31mno\x1b[0m")])
        .otherwise([Turn(HOSTILE, calls=(Call("bash", {"command": f"printf '{HOSTILE}'"}),)), Turn("Two\nlines.")])
    )
    stage = play(script)
    tasks = stage.write(
        "tasks.json", '[{"name": "\\u001b[31mred\\nname", "prompt": "x"}, {"name": "b", "prompt": "bad"}]'
    )
    done = stage.command("run", "--tasks", str(tasks))
    assert obeyed(done.stderr) == []
    assert obeyed(done.stdout) == []
    lines = done.stderr[: done.stderr.index("\n✗ b: ")].splitlines()  # what follows is the report
    assert all(line.startswith(("red name: ", "b: ", "Sub-agents: ")) for line in lines)
    assert "red name: Started" in lines
    assert "red name: Two lines." in lines
    assert lines[-1] == "Sub-agents: 1 completed, 1 failed"


def test_one_of_many_that_ends_says_how_the_rest_stands(play: Play) -> None:
    stage = play(Script())
    use_stand_in(stage)
    done = stage.command("run", "-j", "1", "one", "fail", "three")
    standing = [line for line in done.stderr.splitlines() if line.startswith("Sub-agents")]
    assert standing == [
        "Sub-agents: 1 completed, 2 waiting",
        "Sub-agents: 1 completed, 1 failed, 1 waiting",
        "Sub-agents: 2 completed, 1 failed",
    ]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_which_terminals_obey_escapes(environ: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", environ)
    assert obeys_escapes() is expected


def test_without_a_terminal_there_are_no_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert not sys.stderr.isatty()
    assert isinstance(choose_view(plain=False), PlainView)
