"""However much an agent says, a program that listens holds only so much of it."""

from __future__ import annotations

import tracemalloc

from pi_subagents.fold import (
    MAX_MESSAGE_BYTES_IN_MEMORY,
    MAX_STREAMED_CHARACTERS,
    RecentMessages,
    RunState,
    StreamedText,
    fold,
)
from pi_subagents.models import event as ev

MEBI = 1024 * 1024


def streamed(*pieces: str) -> StreamedText:
    text = StreamedText()
    for piece in pieces:
        text.add(piece)
    return text


def message(text: str) -> ev.Message:
    return ev.Message(role="assistant", parts=(ev.TextPart(text),))


def test_a_streamed_text_is_what_its_pieces_say() -> None:
    assert str(streamed("Hel", "", "lo")) == "Hello"
    assert not streamed("", "")
    long = [f"{number:07}\n" for number in range(MAX_STREAMED_CHARACTERS // 8)]
    assert str(streamed(*long)) == "".join(long)


def test_of_a_message_that_never_ends_the_beginning_and_the_end_are_kept_and_what_is_missing_is_said() -> None:
    state = fold(RunState(), (ev.Delta(kind="text", text=f"{number:07}\n" * 64) for number in range(40_000)))
    assert len(state.text) < MAX_STREAMED_CHARACTERS + MEBI
    assert state.text.startswith("0000000\n")
    assert state.text.endswith("0039999\n")
    note = next(line for line in state.text.splitlines() if line.startswith("["))
    left_out = 40_000 * 64 * 8 - (len(state.text) - len(f"\n\n{note}\n\n"))
    assert note == f"[… {left_out:,} characters of this message left out …]"


def test_one_piece_as_large_as_a_record_can_be_is_cut_too() -> None:
    text = str(streamed("begin" + "x" * (32 * MEBI) + "end"))
    assert len(text) < MAX_STREAMED_CHARACTERS + MEBI
    assert text.startswith("begin")
    assert text.endswith("end")


def test_a_text_that_comes_letter_by_letter_takes_little_more_than_its_letters() -> None:
    tracemalloc.start()
    try:
        text = StreamedText()
        for number in range(250_000):
            text.add(f"{number % 1000:03}")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * MEBI


def test_long_messages_make_room_for_each_other_and_the_last_one_stays() -> None:
    messages = RecentMessages()
    for number in range(100):
        messages.append(message(f"{number}" + "x" * (MEBI // 2)))
    assert sum(len(held.text) for held in messages) <= MAX_MESSAGE_BYTES_IN_MEMORY
    assert len(messages) == 7
    assert messages[-1].text.startswith("99")
    messages.append(message("y" * (2 * MAX_MESSAGE_BYTES_IN_MEMORY)))
    assert [held.text[:1] for held in messages] == ["y"]


def test_messages_that_left_memory_are_still_counted_and_tool_names_do_not_pile_up() -> None:
    calls = (
        ev.Message(role="assistant", parts=(ev.ToolCallPart("1", f"{number}" + "n" * 10_000),))
        for number in range(3000)
    )
    state = fold(RunState(), calls)
    assert (state.message_count, state.tool_count) == (3000, 3000)
    assert sum(map(len, state.tools_called)) < MEBI
