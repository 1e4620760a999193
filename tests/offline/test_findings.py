"""Findings in the text that pi's tools return."""

from __future__ import annotations

from pi_subagents.offline.findings import entries, first_heading, largest_file, matches_per_file, setting


def test_a_listing_leaves_out_hidden_names_and_stays_short() -> None:
    assert entries(".git/\nREADME.md\nsrc/\n\n[500 entries limit]") == ["README.md", "src/"]
    assert len(entries("\n".join(f"f{number}" for number in range(40)))) == 13


def test_the_first_heading_is_found_below_other_lines() -> None:
    assert first_heading("[badge]\n\n## Tea  \n\n# Coffee") == "Tea"
    assert first_heading("no such file") == "a project without a heading"


def test_a_setting_is_read_from_a_file_and_from_a_quoted_line() -> None:
    assert setting("name", '[project]\nname = "tea"\n') == "tea"
    assert setting("name", 'pyproject.toml:2: name = "tea"') == "tea"
    assert setting("name", 'filename = "x"') == "(not stated)"


def test_matches_are_counted_per_file_with_most_first() -> None:
    search = 'a.py:3:     raise X("b.py:1: no")\np/b.py:1: raise\np/b.py:9: raise\n\n[Some lines truncated]'
    assert matches_per_file(search) == [("p/b.py", 2), ("a.py", 1)]
    assert matches_per_file("ripgrep (rg) is not available") == []


def test_the_largest_file_is_not_the_total() -> None:
    assert largest_file(" 300 total\n  200 src/a b.py\n  100 src/c.py\n") == ("src/a b.py", 200)
    assert largest_file("0 total") is None
