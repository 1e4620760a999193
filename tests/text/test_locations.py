"""Paths are short where that loses nothing, and never wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.text import shorten_path


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
