"""Figures are as exact as a glance needs; paths are short where that loses nothing, and never wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.text import age, data_size, duration, money, short_count, shorten_path


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0.0s"),
        (0.44, "0.4s"),
        (59.9, "59.9s"),
        (60, "1m 0s"),
        (3599, "59m 59s"),
        (7500, "2h 5m"),
        (180_000, "2d 2h"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (-5, "0s"),
        (999, "0s"),
        (59_000, "59s"),
        (60_000, "1m"),
        (7_200_000, "2h"),
        (86_400_000, "1d"),
        (1_209_600_000, "2w"),
    ],
)
def test_an_age_has_one_unit(milliseconds: int, words: str) -> None:
    assert age(milliseconds) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (999, "999 B"), (14_200, "14 kB"), (3_210_000, "3.2 MB"), (7_500_000_000, "7.5 GB")],
)
def test_a_size_has_a_fitting_unit(size: int, words: str) -> None:
    assert data_size(size) == words


def test_money_shows_what_is_less_than_a_cent() -> None:
    assert money(0.00421) == "$0.0042"


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (2149, "2.1k"), (35_999, "35k"), (999_999, "999k"), (1_250_000, "1.2M")],
)
def test_a_count_at_a_glance(number: int, words: str) -> None:
    assert short_count(number) == words


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("/home/ann/project/src/a.ts", "src/a.ts"),
        ("/home/ann/project", "."),
        ("/home/ann/project/", "."),
        ("/home/ann/project/src/", "src/"),
        ("/home/ann/notes.md", "~/notes.md"),
        ("/home/ann", "~"),
        ("/home/anna/notes.md", "/home/anna/notes.md"),
        ("/etc/hosts", "/etc/hosts"),
        ("/home/ann/projects/other/a.ts", "~/projects/other/a.ts"),
        ("/home/ann/project/link/../a.ts", "~/project/link/../a.ts"),
        ("src/a.ts", "src/a.ts"),
        ("../a.ts", "../a.ts"),
        ("~/a.ts", "~/a.ts"),
    ],
)
def test_a_path_is_shown_in_its_shortest_form(path: str, short: str) -> None:
    assert shorten_path(path, cwd="/home/ann/project", home="/home/ann") == short


def test_without_a_place_to_relate_to_a_path_stays_as_it_is() -> None:
    assert shorten_path("/home/ann/a.ts") == "/home/ann/a.ts"
    assert shorten_path("/home/ann/a.ts", cwd="", home="") == "/home/ann/a.ts"
    assert shorten_path("/a.ts", home="/") == "/a.ts"


def test_where_this_process_stands_means_nothing_for_an_agents_path() -> None:
    path = str(Path.cwd() / "tests" / "a.ts")
    assert shorten_path(path, cwd="tests") == path
