"""Calls and results of our own tools, as people see them."""

from __future__ import annotations

from typing import Any

import pytest

from pi_subagents.progress import call_segments, excerpt_segments
from pi_subagents.text import Style, plain


def task(profile: object = None) -> dict[str, object]:
    return {"name": "t", "prompt": "p"} | ({} if profile is None else {"profile": profile})


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            {"tasks": [task("writer"), task("researcher"), task("writer")], "profile": "researcher"},
            "delegate_to_subagents 3 sub-agents (default profile: researcher) profiles: [writer, researcher]",
        ),
        ({"tasks": [task()]}, "delegate_to_subagents 1 sub-agent"),
        ({"tasks": [task("a")]}, "delegate_to_subagents 1 sub-agent profiles: [a]"),
        ({"tasks": [task(), task()], "profile": "p"}, "delegate_to_subagents 2 sub-agents (default profile: p)"),
        ({}, "delegate_to_subagents 0 sub-agents"),
        ({"tasks": "soon"}, "delegate_to_subagents 0 sub-agents"),
        (
            {"tasks": [None, task(7), task("a\x1b[2J\nb")], "profile": 3},
            "delegate_to_subagents 3 sub-agents profiles: [a b]",
        ),
    ],
)
def test_the_call(arguments: dict[str, Any], line: str) -> None:
    assert plain(call_segments(arguments)) == line


def text_of(lines: int) -> str:
    return "\n".join(f"line {number}" for number in range(lines))


@pytest.mark.parametrize(
    ("lines", "most", "last"),
    [
        (62, 15, "... (47 more lines)"),
        (16, 15, "... (1 more line)"),
        (15, 15, "line 14"),
        (1, 15, "line 0"),
        (2, 0, "... (2 more lines)"),
    ],
)
def test_a_result_is_cut_for_people_with_the_number_of_lines_that_are_missing(lines: int, most: int, last: str) -> None:
    shown = excerpt_segments(text_of(lines), most)
    assert plain(shown[-1]) == last
    assert [plain(line) for line in shown[:most]] == text_of(lines).split("\n")[:most]


def test_a_result_cannot_move_the_cursor() -> None:
    assert excerpt_segments("a\x1b[2Jb\r\nc", 5) == [[(Style.TEXT, "ab")], [(Style.TEXT, "c")]]
