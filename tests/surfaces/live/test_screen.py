"""Drawing in place: whatever the terminal does to the frame, nothing else is erased and no copy stays behind."""

from __future__ import annotations

import os
import pty
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.surfaces.live.screen import LiveScreen, paint, reflows
from pi_subagents.text import Line, Style
from tests.kit.waiting import until
from tests.surfaces.live.emulator import EmulatedStream, Emulator

HISTORY = [f"history {number}" for number in range(30)]


class _Screen(LiveScreen):
    """A screen whose size is the emulator's."""

    def __init__(self, emulator: Emulator) -> None:
        self.stream = EmulatedStream(emulator)
        super().__init__(self.stream, reflows=emulator.reflows)

    def size(self) -> os.terminal_size:
        return self.stream.terminal_size()


def opened(columns: int = 40, height: int = 12, *, reflowing: bool = True) -> tuple[Emulator, _Screen]:
    """A terminal on which something was printed before."""
    emulator = Emulator(columns, height, reflowing)
    emulator.write("".join(f"{line}\r\n" for line in HISTORY))
    return emulator, _Screen(emulator)


def lines_of(*texts: str) -> list[Line]:
    return [[(Style.TEXT, text)] for text in texts]


def frame(height: int, width: int = 30, mark: str = "frame") -> list[Line]:
    return lines_of(*(f"{mark} {number} ".ljust(width, "x") for number in range(height)))


def shown(emulator: Emulator) -> list[str]:
    assert [line for line in emulator.lines if line.startswith("history")] == HISTORY, "history was wiped"
    return [line for line in emulator.lines if line and not line.startswith("history")]


def test_a_frame_is_replaced_in_place() -> None:
    emulator, screen = opened()
    screen.draw(lines_of("one", "two"))
    screen.draw(lines_of("one", "three", "four"))
    assert shown(emulator) == ["one", "three", "four"]
    screen.draw(lines_of("five"))
    assert shown(emulator) == ["five"]
    assert not emulator.cursor_is_visible


def test_what_has_not_changed_is_not_sent_again() -> None:
    emulator, screen = opened()
    screen.draw(lines_of("one", "two"))
    screen.stream.sent.clear()
    screen.draw(lines_of("one", "two"))
    assert screen.stream.sent == []
    screen.draw(lines_of("one", "2"))
    assert "one" not in "".join(screen.stream.sent)
    assert shown(emulator) == ["one", "2"]


def test_history_goes_above_the_frame_and_stays() -> None:
    emulator, screen = opened()
    for number in range(20):
        screen.draw(frame(5, mark=f"frame{number}"), lines_of(f"finished {number}"))
    screen.close()
    assert shown(emulator) == [f"finished {number}" for number in range(20)]
    assert emulator.cursor_is_visible


def test_a_line_of_history_that_is_wider_than_the_terminal_is_kept_whole() -> None:
    emulator, screen = opened()
    screen.draw(frame(3), lines_of("reason " * 20))
    screen.draw(frame(3, mark="again"))
    assert shown(emulator)[0] == ("reason " * 20).rstrip()
    assert len(shown(emulator)) == 4


def test_no_line_of_a_frame_touches_the_edge() -> None:
    emulator, screen = opened(columns=20)
    screen.draw(lines_of("x" * 50, "日本語" * 10, "👩‍👩‍👧" * 20))
    assert len(shown(emulator)) == 3
    assert all(line.endswith("…") for line in shown(emulator))


@pytest.mark.parametrize("reflowing", [True, False])
@pytest.mark.parametrize("size", [(30, 12), (20, 12), (39, 11), (80, 12), (40, 8), (40, 40), (21, 20)])
def test_a_resize_that_leaves_room_for_the_frame_leaves_no_trace(size: tuple[int, int], reflowing: bool) -> None:
    emulator, screen = opened(reflowing=reflowing)
    screen.draw(frame(5, width=25))
    emulator.resize(*size)
    screen.draw(frame(4, mark="new"))
    assert len([line for line in shown(emulator) if line.startswith("n")]) == 4
    assert not [line for line in shown(emulator) if line.startswith("frame")]


def test_what_shrinking_has_moved_away_is_erased_when_growing_brings_it_back() -> None:
    emulator, screen = opened(40, 24)
    screen.draw(frame(20))
    emulator.resize(20, 10)
    screen.draw(frame(8, mark="small"))
    assert [line.split()[:2] for line in emulator.screen if line] == [["small", str(n)] for n in range(8)]
    emulator.resize(40, 40)
    screen.draw(frame(12, mark="large"))
    assert all(line.startswith("large") for line in shown(emulator))


texts = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "So")), max_size=60)
sizes = st.tuples(st.integers(1, 60), st.integers(1, 30))


@given(
    steps=st.lists(st.tuples(sizes, st.lists(texts, max_size=12), st.booleans()), max_size=8), reflowing=st.booleans()
)
def test_no_sequence_of_resizes_and_frames_ever_wipes_history(
    steps: list[tuple[tuple[int, int], list[str], bool]], reflowing: bool
) -> None:
    emulator, screen = opened(reflowing=reflowing)
    expected = list(HISTORY)
    for (columns, height), contents, ends in steps:
        emulator.resize(columns, height)
        above = [f"history done {len(expected)}"] if ends else []
        expected += above
        screen.draw(lines_of(*contents[: height - 1]), lines_of(*above))
    screen.close()
    # Behind an end of ours that could not be erased, perhaps.
    assert [line[line.index("history") :] for line in emulator.lines if "history" in line] == expected


def test_a_terminal_that_takes_nothing_is_not_written_to() -> None:
    terminal, end = pty.openpty()
    with open(end, "w") as stream:  # noqa: PTH123 - a descriptor
        screen = LiveScreen(stream)
        assert screen.accepts_output()
        os.set_blocking(end, False)

        def is_full() -> bool:
            with suppress(BlockingIOError):
                os.write(end, b"x" * 4096)
            return not screen.accepts_output()

        until(is_full, "the kernel, which goes on taking a little for a while, takes no more")
    os.close(terminal)


def test_a_terminal_without_a_size_is_taken_for_the_usual_one(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as stream:
        screen = LiveScreen(stream)
        assert screen.size() == os.terminal_size((80, 24))
        assert screen.is_ours()


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"}, False),
        ({"TERM": "xterm", "XTERM_VERSION": "XTerm(390)", "TMUX": "/tmp/x"}, True),
        ({"TERM": "linux"}, False),
        ({"TERM": "screen"}, False),
        ({"TERM": "screen-256color", "TMUX": "/tmp/x"}, True),
    ],
)
def test_which_terminals_break_lines_anew(environ: dict[str, str], expected: bool) -> None:
    assert reflows(environ) is expected


def test_without_colours_what_matters_less_is_dim_all_the_same() -> None:
    line: Line = [(Style.BOLD, "a"), (Style.MUTED, "b"), (Style.ERROR, "c"), (Style.DIM, "d")]
    assert paint(line, coloured=False) == "\x1b[1ma\x1b[0m\x1b[2mb\x1b[0mc\x1b[2md\x1b[0m"
