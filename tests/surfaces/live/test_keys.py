"""Keys as terminals send them, and what they do."""

from __future__ import annotations

import pytest

from pi_subagents.surfaces.live.keys import Controls, Entry, Key, KeyParser, Stop

RUNS = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"\x1b[A\x1b[B", [Key.UP, Key.DOWN]),
        (b"\x1bOA\x1bOB", [Key.UP, Key.DOWN]),  # application mode
        (b"kj", [Key.UP, Key.DOWN]),
        (b"\x0fxdq", [Key.EXPAND, Key.STOP, Key.DETACH, Key.QUIT]),
        (b"\x1b[1;5Cx", [Key.OTHER, Key.STOP]),  # Ctrl+right is one key, not six
        (b"\x1b[200~q", [Key.OTHER, Key.QUIT]),
        (b"\x1b", [Key.OTHER]),  # escape alone is an answer at once
        (b"\x1bx", [Key.OTHER]),  # Alt+x is not x
        ("ü日".encode(), [Key.OTHER] * 5),
        (b"", []),
    ],
)
def test_what_a_terminal_sends_becomes_keys(data: bytes, keys: list[Key]) -> None:
    assert KeyParser().feed(data) == keys


def test_a_key_that_comes_in_pieces_over_a_slow_line_is_one_key() -> None:
    parser = KeyParser()
    assert parser.feed(b"x\x1b[") == [Key.STOP]
    assert parser.feed(b"B") == [Key.DOWN]


def test_an_endless_sequence_is_not_collected() -> None:
    parser = KeyParser()
    assert parser.feed(b"\x1b[" + b"1" * 1000)
    assert parser.feed(b"q") == [Key.QUIT]


def selecting(*keys: Key) -> Controls:
    controls = Controls()
    controls.settle(RUNS)
    for key in keys:
        assert controls.press(key, RUNS) is None
    return controls


def test_arrows_go_round() -> None:
    assert selecting().selected == "a"
    assert selecting(Key.DOWN, Key.DOWN).selected == "c"
    assert selecting(Key.UP).selected == "c"
    assert selecting(Key.UP, Key.DOWN).selected == "a"


def test_the_expanded_one_is_the_selected_one() -> None:
    controls = selecting(Key.DOWN, Key.EXPAND)
    assert (controls.selected, controls.expanded) == ("b", True)
    controls.press(Key.EXPAND, RUNS)
    assert not controls.expanded


@pytest.mark.parametrize(
    ("key", "answer", "stop"),
    [
        (Key.STOP, Key.YES, Stop("b")),
        (Key.STOP, Key.STOP, Stop("b")),
        (Key.QUIT, Key.YES, Stop()),
        (Key.QUIT, Key.QUIT, Stop()),
    ],
)
def test_one_or_all_are_stopped_after_a_question(key: Key, answer: Key, stop: Stop) -> None:
    controls = selecting(Key.DOWN, key)
    assert controls.question == stop
    assert controls.press(answer, RUNS) == stop
    assert controls.question is None


@pytest.mark.parametrize("question", [Key.STOP, Key.QUIT])
@pytest.mark.parametrize("answer", [Key.OTHER, Key.UP, Key.EXPAND])
def test_any_other_answer_goes_on(question: Key, answer: Key) -> None:
    controls = selecting(question)
    assert controls.press(answer, RUNS) is None
    assert controls.question is None


def test_an_answer_that_comes_after_the_end_of_the_one_asked_about_stops_no_other() -> None:
    controls = selecting(Key.DOWN, Key.STOP)
    assert controls.press(Key.YES, ["a", "c"]) is None
    assert (controls.selected, controls.question) == ("c", None)
    controls = selecting(Key.DOWN, Key.STOP)
    assert controls.press(Key.STOP, ["a", "c"]) is None
    assert controls.question == Stop("c")


def test_without_a_question_y_means_nothing() -> None:
    assert selecting(Key.YES).selected == "a"


def test_without_windows_no_key_does_harm() -> None:
    controls = Controls()
    for key in (Key.UP, Key.DOWN, Key.EXPAND, Key.STOP, Key.OTHER):
        assert controls.press(key, []) is None
    assert controls.selected is None


@pytest.mark.parametrize(
    ("chunks", "text", "is_over"),
    [
        ([b"Leave the tests\n"], "Leave the tests", True),
        ([b"x", b"q", b"s", b"\r"], "xqs", True),  # no key means anything but its letter
        (["fü日".encode()[:2], "fü日".encode()[2:], b"\n"], "fü日", True),
        ([b"abc\x7f\x7f", b"\x08z\n"], "z", True),
        ([b"abc\x15d\n"], "d", True),
        ([b"abc", b"\x1b"], "", True),
        ([b"one\ntwo\tthree\n"], "one two three", True),  # pasted: its lines are not sent one by one
        ([b"a\x1b[A\x01b"], "ab", False),
    ],
)
def test_a_line_is_typed(chunks: list[bytes], text: str, is_over: bool) -> None:
    entry, parser, over = Entry("a"), KeyParser(), False
    for chunk in chunks:
        sequences = parser.split(chunk)
        for number, sequence in enumerate(sequences, start=1):
            over = entry.take(sequence, is_last=number == len(sequences))
    assert (entry.text, over) == (text, is_over)


def test_steering_is_for_the_selected_one() -> None:
    entry = selecting(Key.DOWN, Key.STEER).entry
    assert entry is not None
    assert entry.run_id == "b"
    assert Controls().press(Key.STEER, []) is None
