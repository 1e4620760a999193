"""What an agent says cannot make a page, a window or a screen take all the time or all the memory."""

from __future__ import annotations

import re
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.export import Returned, Said
from pi_subagents.export.facts import argument_blocks
from pi_subagents.export.markdown import _code_spans, contained, quoted
from pi_subagents.fold import RunState
from pi_subagents.models import event as ev
from pi_subagents.progress import Window
from pi_subagents.text import wrap
from tests.export.kit import entries_of, markdown_of
from tests.kit.sessions import call, returns, run_of, says

LONG_S = 10.0
"""Twenty times what each of these takes; what grows with the square takes longer."""
MEBI = 1024 * 1024

HOSTILE: dict[str, Callable[[], object]] = {
    "a line that is wrapped": lambda: wrap("word " * 2_000_000, 80),
    "backticks that close nothing": lambda: contained("".join("`" * length + "a" for length in range(1, 3000))),
    "a great many arguments": lambda: argument_blocks({"values": list(range(140_000))}),
    "arguments below a long name": lambda: argument_blocks({"n" * 100_000: {str(n): 1 for n in range(50_000)}}),
    "lines that are quoted": lambda: quoted("<\n" * 5_000_000),
}


@pytest.mark.parametrize("work", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_text_takes_no_longer_than_its_length_allows(work: Callable[[], object]) -> None:
    began = time.process_time()
    work()
    assert time.process_time() - began < LONG_S


_SPAN = re.compile(r"(?P<marks>(?<![`\\])`+(?!`)).*?(?<!`)(?P=marks)(?!`)")


@given(st.text("``\\a<", max_size=40))
def test_code_is_found_between_runs_of_as_many_backticks(line: str) -> None:
    assert list(_code_spans(line)) == [span.span() for span in _SPAN.finditer(line)]


@contextmanager
def takes_at_most(mebibytes: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < mebibytes * MEBI


def test_a_message_of_short_lines_is_not_taken_apart_as_a_whole() -> None:
    message, window = says("ab\n" * 4_000_000), Window(RunState())
    with takes_at_most(60):
        window.apply(message)
    assert len(window.all_messages) == 500


def test_a_result_of_ls_that_is_no_list_is_not_counted() -> None:
    result, window = returns("1", "ls", "ab\n" * 4_000_000), Window(RunState())
    with takes_at_most(60):
        window.apply(result)
    assert window.all_messages == []


def test_empty_pieces_of_a_message_leave_nothing() -> None:
    window = Window(RunState())
    assert not window.apply(ev.Delta(kind="text", text=""))
    assert window.live_lines == []


def test_a_very_long_message_comes_in_several_entries_and_whole() -> None:
    text = "".join(f"{number:09}\n" for number in range(900_000))
    said = [entry for entry in entries_of([says(text)]) if isinstance(entry, Said)]
    assert len(said) == 3
    assert "".join(entry.text for entry in said) == text
    first, *more = [entry for entry in entries_of([says(call("1", "x")), returns("1", "x", text)])
                    if isinstance(entry, Returned)]  # fmt: skip
    assert first.call is not None
    assert [entry.call for entry in more] == [None, None]
    assert "".join(entry.text for entry in (first, *more)) == text


def test_of_a_message_that_never_ended_the_page_says_what_is_missing() -> None:
    pieces = [ev.Delta(kind=kind, text="x" * 100_000) for _ in range(100) for kind in ("text", "thinking")]
    text = markdown_of(run_of(*pieces))
    assert len(text) < 10 * MEBI
    assert text.count("characters of this message left out …]") == 2
