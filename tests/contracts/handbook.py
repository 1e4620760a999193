"""The Markdown files that users read, and the blocks of code in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A piece of code in a page."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def all_pages() -> list[Path]:
    """Every page of the handbook."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[Block]:
    """Every block of that language."""
    return [block for page in all_pages() for block in _blocks_of(page) if block.language == language]


def _blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        yield Block(page, text.count("\n", 0, found.start()) + 1, found["language"], found["text"])


@cache
def links() -> list[tuple[Path, str]]:
    """Every link to another file, with the page it stands in."""
    found = [(page, match["target"]) for page in all_pages() for match in _LINK.finditer(page.read_text("utf-8"))]
    return [(page, target) for page, target in found if not target.startswith(("http", "#"))]
