"""What reaches a terminal is harmless and exactly as wide as we think."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.text import cell_width, clean, clip, clip_start, graphemes, screen_rows, wrap

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
FLAG = "\U0001f1e9\U0001f1ea"
THUMB = "\U0001f44d\U0001f3fd"
HEART = "\u2764\ufe0f"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("plain", 5),
        ("äöü", 3),
        ("你好", 4),
        ("\uff46\uff55\uff4c\uff4c", 8),
        ("한글", 4),
        ("\u1112\u1161\u11ab", 2),  # the same syllable from its letters
        ("e\u0301", 1),
        ("\u0915\u094d\u200d\u0937", 2),  # a joiner between Devanagari letters joins no pictures
        ("a\u200bb", 2),
        ("a\u200d\U0001f642", 3),  # a joiner after a letter joins no picture to it
        ("\u06001", 2),  # the Arabic number sign is a format character that shows
        ("\ud55c\ud7b0", 2),
        ("\u0915\u093e", 2),
        ("\U0001f642", 2),
        (FAMILY, 2),
        (HEART, 2),
        ("\u2764", 1),
        ("1\ufe0f\u20e3", 2),
        ("\u203c\ufe0f", 2),
        ("a\ufe0f \ufe0f", 2),  # a letter has no emoji style
        (FLAG, 2),
        (FLAG + "\U0001f1eb\U0001f1f7", 4),
        (THUMB, 2),
        (ENGLAND, 2),
        ("\U0001f642\u200d\u2194\ufe0f", 2),
        ("…→│✓✗", 5),
        ("\U0001fae9\u2630", 4),  # wide since Unicode 16, whatever this Python knows
        # Where terminals disagree, the wider reading:
        ("\U0001f1e9", 2),
        ("\u231a\ufe0e", 2),
        ("\u0938\u094d\u0924\u094d\u0930\u0940", 4),
        ("\u0915\u0903\u0903", 3),
        ("\u3164\uffa0", 3),
    ],
)
def test_width_is_counted_in_terminal_cells(text: str, width: int) -> None:
    assert cell_width(text) == width


@pytest.mark.parametrize(
    "piece", ["\U0001f1e9", "\u0301", "\u200d\U0001f468", "\u0915\u094d", "\u2764\ufe0f", "\u0903"]
)
def test_hostile_text_is_measured_and_cut_in_linear_time(piece: str) -> None:
    started = time.process_time()
    text = "é" + piece * 100_000
    assert cell_width(clip(text, 80)) <= 80
    assert cell_width(clip_start(text, 80)) <= 80
    assert time.process_time() - started < 10  # the square of it would take minutes


@pytest.mark.parametrize("whole", [FAMILY, FLAG, THUMB, HEART, ENGLAND, "e\u0301\u0323", "\u1112\u1161\u11ab"])
def test_what_people_see_as_one_character_is_one_grapheme(whole: str) -> None:
    assert [cluster for cluster, _ in graphemes(f"a{whole}b")] == ["a", whole, "b"]


@pytest.mark.parametrize(
    ("text", "width", "clipped"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("longer", 1, "…"),
        ("longer", 0, ""),
        ("longer", -3, ""),
        ("你好吗", 6, "你好吗"),
        ("你好吗", 5, "你好…"),
        ("你好吗", 4, "你…"),
        ("ab" + FAMILY, 4, "ab" + FAMILY),
        ("ab" + FAMILY, 3, "ab…"),
        (FAMILY * 2, 3, FAMILY + "…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
    ],
)
def test_clip_keeps_the_beginning_and_never_splits_a_character(text: str, width: int, clipped: str) -> None:
    assert clip(text, width) == clipped


@pytest.mark.parametrize(
    ("text", "width", "clipped"),
    [
        ("src/auth.ts", 11, "src/auth.ts"),
        ("src/auth.ts", 8, "…auth.ts"),
        ("src/auth.ts", 0, ""),
        ("目录/文件", 9, "目录/文件"),
        ("目录/文件", 5, "…文件"),
        ("目录/文件", 4, "…件"),
        (f"x{FAMILY}y", 3, "…y"),
    ],
)
def test_clip_start_keeps_the_end_of_a_path(text: str, width: int, clipped: str) -> None:
    assert clip_start(text, width) == clipped


@pytest.mark.parametrize(
    "attack",
    [
        "\x1b[31m",
        "\x1b[2J\x1b[H",
        "\x1b[?1049h",
        "\x1b[38;2;1;2;3m",
        "\x1b]0;owned\x07",
        "\x1b]0;owned\x1b\\",
        "\x1b]8;;https://evil.example\x1b\\",
        "\x1b]8;;https://evil.example\x07",
        "\x1b]52;c;ZXZpbA==\x07",
        "\x1bP1$r0m\x1b\\",
        "\x1b_Gf=100;AAAA\x1b\\",
        "\x1b^private\x1b\\",
        "\x1bXstring\x1b\\",
        "\x1bPq#0\n#1\n\x1b\\",
        "\x1bc",
        "\x1b(B",
        "\x1b#8",
        "\x1b7",
        "\x9b31m",
        "\x9d0;owned\x9c",
        "\x90q\x9c",
        "\x9f\x9c",
        "\x08\x08",
        "\x00\x07\x0e\x7f",
        "\u202e",
        "\u2066\u2069",
        "\ufeff",
    ],
)
def test_nothing_that_a_terminal_would_obey_is_left(attack: str) -> None:
    assert clean(f"safe {attack}text") == "safe text"


def test_an_unclosed_title_swallows_its_line_but_not_what_follows() -> None:
    assert clean("a\x1b]0;title\nnext", keep_newlines=True) == "a\nnext"


def test_a_cut_colour_leaves_no_parameters_behind() -> None:
    assert clean("done\x1b[38;5") == "done"
    assert clean("done\x1b") == "done"


def test_line_breaks_become_spaces_unless_they_are_kept() -> None:
    assert clean("a\nb") == "a b"
    text = "a\nb\r\nc\rd\u2028e\x0bf\x85g"
    assert clean(text) == "a b c d e f g"
    assert clean(text, keep_newlines=True) == "a\nb\nc\nd\ne\nf\ng"


def test_a_tab_becomes_spaces() -> None:
    assert clean("a\tb") == "a    b"
    assert clean("a\tb\n", keep_newlines=True) == "a    b\n"


def test_half_a_character_is_replaced_because_it_cannot_be_encoded() -> None:
    assert clean("a\ud83db").encode() == "a\ufffdb".encode()


@pytest.mark.parametrize("text", ["plain", "naïve 你好 →", FAMILY, ENGLAND, "e\u0301", "\u200f\u05d0"])
def test_text_that_is_only_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize("piece", ["\x1b]", "\x90\n", "\x1b[", "\x1b[1;", "\x1bP\x1b", "\x9d"])
def test_hostile_output_is_cleaned_in_linear_time(piece: str) -> None:
    started = time.process_time()
    clean(piece * 200_000, keep_newlines=True)
    assert time.process_time() - started < 2  # quadratic would take minutes


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
