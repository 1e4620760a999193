"""Long text in rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.text import cell_width, screen_rows, wrap


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("", 10, []),
        ("short", 10, ["short"]),
        ("exactly it", 10, ["exactly it"]),
        ("two words here", 10, ["two words", "here"]),
        ("    indented stays", 12, ["    indented", "stays"]),
        ("unbreakable-word", 6, ["unbrea", "kable-", "word"]),
        ("a unbreakable", 6, ["a unbr", "eakabl", "e"]),  # a row with a single letter would be a waste
        ("日本語の文章です", 7, ["日本語", "の文章", "です"]),
        ("日本", 1, []),
        ("text", 0, []),
    ],
)
def test_rows(text: str, width: int, rows: list[str]) -> None:
    assert wrap(text, width) == rows


@given(text=st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "So", "Zs"))), width=st.integers(2, 40))
def test_no_row_is_too_wide_and_nothing_but_spaces_gets_lost(text: str, width: int) -> None:
    rows = wrap(text, width)
    assert all(cell_width(row) <= width for row in rows)
    assert "".join("".join(rows).split()) == "".join(text.split())


@given(text=st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "So"))), columns=st.integers(2, 40))
def test_a_terminal_breaks_at_its_edge(text: str, columns: int) -> None:
    rows = screen_rows(text, columns)
    assert "".join(rows) == text
    assert all(cell_width(row) <= columns for row in rows)
    assert all(cell_width(row) >= columns - 1 for row in rows[:-1])
