"""Figures stand out, in the lines where they are figures."""

from __future__ import annotations

import pytest

from pi_subagents.text import Segment, Style, fit, plain, style_tool_line

MUTED, ADDED, REMOVED = Style.MUTED, Style.ADDED, Style.REMOVED


@pytest.mark.parametrize(
    ("line", "segments"),
    [
        (
            "→ edit → a.ts (2 edits) +3/-1",
            [(MUTED, "→ edit → a.ts (2 edits) "), (ADDED, "+3"), (MUTED, "/"), (REMOVED, "-1")],
        ),
        ("→ write → a.ts +12", [(MUTED, "→ write → a.ts "), (ADDED, "+12")]),
        ("→ read → a.ts:1+5 (5 lines)", [(MUTED, "→ read → a.ts:1+5 "), (ADDED, "(5 lines)")]),
        ("→ read → a.ts+1 (1 line)", [(MUTED, "→ read → a.ts+1 "), (ADDED, "(1 line)")]),
        ("  2 files, 1 dir", [(MUTED, "  "), (ADDED, "2"), (MUTED, " files, "), (ADDED, "1"), (MUTED, " dir")]),
        ("  12 matches+", [(MUTED, "  "), (ADDED, "12"), (MUTED, " matches+")]),
        ("  0 matches", [(MUTED, "  "), (ADDED, "0"), (MUTED, " matches")]),
        ("  (empty)", [(MUTED, "  (empty)")]),
        ("→ bash → date +3/-1", [(MUTED, "→ bash → date +3/-1")]),
        ("→ bash → echo 5 files", [(MUTED, "→ bash → echo 5 files")]),
        ("→ read → a (5 lines)", [(MUTED, "→ read → a (5 lines)")]),
        ("  │ && head -n 3", [(MUTED, "  │ && head -n 3")]),
        ("→ ls → src", [(MUTED, "→ ls → src")]),
    ],
)
def test_figures_have_a_colour_and_all_else_is_muted(line: str, segments: list[Segment]) -> None:
    assert style_tool_line(line) == segments


def test_a_line_is_cut_across_its_pieces() -> None:
    line = [(Style.BOLD, "name"), (Style.DIM, " • "), (Style.ACCENT, "你好")]
    assert fit(line, 11) == line
    assert fit(line, 10) == [(Style.BOLD, "name"), (Style.DIM, " • "), (Style.ACCENT, "你…")]
    assert fit(line, 8) == [(Style.BOLD, "name"), (Style.DIM, " • "), (Style.ACCENT, "…")]
    assert fit(line, 3) == [(Style.BOLD, "na…")]
    assert fit(line, 0) == []


def test_a_character_that_spans_two_pieces_is_not_split() -> None:
    line = [(Style.TEXT, "ae"), (Style.BOLD, "\u0301bc")]
    assert plain(fit(line, 3)) == "ae\u0301…"
