"""The reference pages say what the code says."""

from __future__ import annotations

import pytest

from scripts.reference import FOLDER, pages

MADE = pages()
WRITTEN = {"bridge.md"}
"""A contract between two programs is not made from the code of one."""


@pytest.mark.parametrize("name", MADE)
def test_a_reference_page_is_up_to_date(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == MADE[name], f"docs/reference/{name} is not what the code says; run ./scripts/docs"


def test_no_other_page_of_the_reference_is_written_by_hand() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(MADE) | WRITTEN
