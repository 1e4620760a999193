"""Patterns that a stranger wrote: they match what they should, and none of them keeps us busy for ever."""

from __future__ import annotations

import pytest

from pi_subagents.skills.patterns import expand_braces, matches_glob


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a*b", "xaab"),
        ("a*b*c", "abbcbc"),
        ("**/a/**/b", "x/a/a/y/b"),
        ("**/a/**/a/b", "a/a/b"),
        ("a/**/**/b", "a/b"),
        ("**/**", "a/b/c"),
        ("*.??", "x.y.md"),
    ],
)
def test_what_fits_somewhere_is_found(pattern: str, path: str) -> None:
    assert matches_glob(path, pattern)


def test_a_class_of_characters_matches_no_slash() -> None:
    assert matches_glob("acb", "a[!b]b")
    assert not matches_glob("a/b", "a[!b]b")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        pytest.param("*a" * 40 + "b", "a" * 250, id="stars"),
        pytest.param("**/a/" * 30 + "b", "a/" * 900 + "c", id="folders"),
        pytest.param("*?" * 40 + "b", "a" * 250, id="question marks"),
    ],
)
def test_a_pattern_made_to_take_for_ever_does_not(pattern: str, path: str) -> None:
    assert not matches_glob(path, pattern)


def test_braces_that_stand_for_too_many_patterns_are_cut_short() -> None:
    assert expand_braces("{a,b}{c,d}") == ["ac", "ad", "bc", "bd"]
    assert len(expand_braces("{a,b}" * 40)) == 1000
