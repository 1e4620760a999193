"""How much `ls` and `find` found, read from what the real pi answers."""

from __future__ import annotations

import pytest

from pi_subagents.progress import summarise_tool_result

LS_NOTICE = "\n\n[500 entries limit reached. Use limit=1000 for more]"
FIND_NOTICE = "\n\n[2 results limit reached. Use limit=4 for more, or refine pattern. 50.0KB limit reached]"


@pytest.mark.parametrize(
    ("name", "text", "summary"),
    [
        ("ls", "a.ts\nb.ts\nsrc/", "2 files, 1 dir"),
        ("ls", "a.ts", "1 file"),
        ("ls", "lib/\nsrc/\n", "2 dirs"),
        ("ls", "(empty directory)", "(empty)"),
        ("ls", "", "(empty)"),
        ("ls", "\n".join([f"f{n}" for n in range(500)] + ["a/", "b/", "c/"]) + LS_NOTICE, "500 files, 3 dirs+"),
        ("ls", "a\n\n[50.0KB limit reached]", "1 file+"),
        ("ls", "[limit reached]", "1 file"),
        ("ls", "a\n[x]", "2 files"),
        ("ls", "a\n\nb", "2 files"),
        ("ls", "a\n\n[x\nlimit reached]", "3 files"),
        ("find", "a.ts\nb.ts\nsrc/", "3 matches"),
        ("find", "a.ts", "1 match"),
        ("find", "No files found matching pattern", "0 matches"),
        ("find", "", "0 matches"),
        ("find", "a.ts\nb.ts" + FIND_NOTICE, "2 matches+"),
        ("read", "a\nb", None),
        ("bash", "", None),
    ],
)
def test_a_list_is_counted(name: str, text: str, summary: str | None) -> None:
    assert summarise_tool_result(name, text) == summary


@pytest.mark.parametrize(
    "details",
    [{"entryLimitReached": 500}, {"resultLimitReached": 2}, {"truncation": {"truncated": True}}, {"truncated": True}],
)
def test_details_can_say_that_a_list_was_cut(details: object) -> None:
    assert summarise_tool_result("ls", "a", details) == "1 file+"


@pytest.mark.parametrize("details", [None, {}, {"truncated": False}, [], "truncated"])
def test_other_details_say_nothing(details: object) -> None:
    assert summarise_tool_result("ls", "a", details) == "1 file"
