"""The few forms of Markdown that the pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar in a cell would end it, so it is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(text: str, language: str = "") -> str:
    """A block of code."""
    return f"```{language}\n{text.strip()}\n```"


def join(*blocks: str) -> str:
    """Blocks with a blank line between them; empty ones are left out."""
    return "\n\n".join(block.strip("\n") for block in blocks if block)


def standing(power: str | None) -> str:
    """What a setting or field counts for in a project that is not trusted."""
    return "works" if power is None else f"a power: {power}"
