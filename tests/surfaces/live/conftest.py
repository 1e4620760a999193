"""Fixtures for the live view in a real terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.pi.fixtures import pi, play
from tests.pi.stage import Stage
from tests.surfaces.live.tmux import Terminal

__all__ = ["open_terminal", "pi", "play"]


@pytest.fixture
def open_terminal() -> Iterator[Callable[[Stage, int, int], Terminal]]:
    """A function that opens a terminal of a given size in a stage's project."""
    with ExitStack() as terminals:

        def opened(stage: Stage, columns: int, rows: int) -> Terminal:
            terminal = Terminal(stage.project, stage.environ, columns, rows)
            terminals.callback(terminal.close)
            return terminal

        yield opened
