"""The page about security promises nothing without a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "concepts" / "security.md"
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_the_page_names_exists(file: str, name: str) -> None:
    assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_line_of_a_table_of_promises_names_a_test() -> None:
    tables = PAGE.read_text(encoding="utf-8").split("| | test |\n| --- | --- |\n")[1:]
    assert len(tables) >= 5
    for table in tables:
        rows = table.split("\n\n")[0].splitlines()
        assert not [row for row in rows if "`tests/" not in row]
