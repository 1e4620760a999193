"""How `--help` is laid out: lines are broken between words, and never within a command or an option."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

_UNBROKEN_HYPHEN = "\u2011"
"""Stands for a hyphen while click breaks lines: it would break them there too, and cannot be told not to."""


class UnbrokenFormatter(click.HelpFormatter):
    """Leaves words with hyphens whole, so that `pi-subagents trust` can be read and copied."""

    def write_text(self, text: str) -> None:
        """A paragraph."""
        super().write_text(_joined(text))

    def write_dl(self, rows: Iterable[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        """A table of names and what they mean."""
        super().write_dl([(_joined(name), _joined(meaning)) for name, meaning in rows], *args, **kwargs)

    def getvalue(self) -> str:
        """All of it, with ordinary hyphens again."""
        return super().getvalue().replace(_UNBROKEN_HYPHEN, "-")


class HelpContext(click.Context):
    """A context whose help is laid out so."""

    formatter_class = UnbrokenFormatter


def _joined(text: str) -> str:
    return text.replace("-", _UNBROKEN_HYPHEN)
