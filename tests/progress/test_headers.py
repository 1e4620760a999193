"""A header that does not fit leaves out what is missed least."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.models import Usage
from pi_subagents.progress import Window, header_segments
from pi_subagents.text import cell_width, plain
from tests.progress.windows_kit import CREATED, STARTED, assistant, window_of

USAGE = Usage(total_tokens=2100, cost=0.0021)


def window(name: str = "build") -> Window:
    created = msgspec.structs.replace(CREATED, name=name, profile="scout", provider="openai", model="gpt-5")
    return window_of(created, STARTED, assistant("Hi", usage=USAGE))


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (None, "⏳ build • scout (openai/gpt-5) • 0 tools • 12s/600s • 2.1k tokens • $0.0021"),
        (77, "⏳ build • scout (openai/gpt-5) • 0 tools • 12s/600s • 2.1k tokens • $0.0021"),
        (70, "⏳ build • scout • 0 tools • 12s/600s • 2.1k tokens • $0.0021"),
        (58, "⏳ build • 0 tools • 12s/600s • 2.1k tokens • $0.0021"),
        (45, "⏳ build • 0 tools • 12s/600s • $0.0021"),
        (30, "⏳ build • 0 tools • 12s/600s"),
        (20, "⏳ build • 12s/600s"),
        (15, "⏳ build • 12s"),
        (13, "⏳ bui… • 12s"),
    ],
)
def test_what_goes_first(width: int | None, line: str) -> None:
    assert plain(header_segments(window(), 14_500, figures=True, width=width)) == line


@pytest.mark.parametrize("width", [60, 90, 120])
def test_a_long_name_is_cut_only_where_the_line_is_full(width: int) -> None:
    line = plain(header_segments(window("name " * 40), 14_500, width=width))
    assert cell_width(line) == width
    assert "… • " in line
    assert line.endswith("12s/600s")


def test_a_name_gets_the_room_that_the_others_leave() -> None:
    name = "Summarise the README and say what a newcomer misses"
    line = plain(header_segments(window(name), 14_500, width=84))
    assert line == f"⏳ {name} • scout • 0 tools • 12s/600s"


def test_a_name_takes_half_of_the_line_before_the_agent_stays() -> None:
    name = "Summarise the README and say what a newcomer misses"
    line = plain(header_segments(window(name), 14_500, width=50))
    assert line == "⏳ Summarise the README and … • 0 tools • 12s/600s"


@given(name=st.text(max_size=80), width=st.integers(0, 120))
def test_no_header_is_too_wide(name: str, width: int) -> None:
    assert cell_width(plain(header_segments(window(name), 14_500, figures=True, width=width))) <= width
