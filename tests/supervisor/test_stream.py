"""From bytes to events: nothing is lost, nothing secret gets through, and pieces are put together."""

from __future__ import annotations

import json
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.harness import Dialogue
from pi_subagents.harness.pi.decoder import PiDecoder
from pi_subagents.jsonl import MAX_RECORD_BYTES, Frame
from pi_subagents.models import event as ev
from pi_subagents.redaction import MARK, Redactor
from pi_subagents.supervisor.recorder import AgentOutput, TextStream
from pi_subagents.testing.records import AGENT_SETTLED, AGENT_START, Record, assistant, delta

SECRET = "sk-live-0123456789-sk"


class Stdout:
    """One agent's output as its run hears it, and what is kept of it in the log."""

    def __init__(self, dialogue: Dialogue | None = None) -> None:
        self.log = BytesIO()
        self.output = AgentOutput(dialogue or PiDecoder(), Redactor([SECRET]), lambda: 7, self.log, BytesIO())
        self.take_pending = self.output.take_pending

    def feed(self, *printed: Record | bytes) -> list[ev.AnyEvent]:
        """Print records, or bytes as they are."""
        data = [one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in printed]
        return self.output.feed("stdout", b"".join(data))

    def finish(self) -> list[ev.AnyEvent]:
        return self.output.finish(0)


def texts(events: list[ev.AnyEvent]) -> str:
    """What the deltas among some events say together."""
    return "".join(event.text for event in events if isinstance(event, ev.Delta))


def test_pieces_are_joined_until_something_else_happens() -> None:
    stream = Stdout()
    events = stream.feed(delta("Hel"), delta("lo"), assistant("Hello"))
    assert events[0] == ev.Delta(at=7, kind="text", text="Hello")
    assert isinstance(events[1], ev.Message)
    assert len(stream.log.getvalue().splitlines()) == 1, "streamed pieces are not kept in the log"


def test_pieces_can_be_taken_before_that() -> None:
    stream = Stdout()
    assert stream.feed(delta("Hel")) == []
    assert stream.output.has_pending
    assert texts(stream.take_pending()) == "Hel"
    assert not stream.output.has_pending


def test_thinking_and_text_are_not_mixed() -> None:
    stream = Stdout()
    thinking = {"type": "message_update", "assistantMessageEvent": {"type": "thinking_delta", "delta": "Hm."}}
    events = stream.feed(thinking, delta("Yes."))
    assert [*events, *stream.take_pending()] == [
        ev.Delta(at=7, kind="thinking", text="Hm."),
        ev.Delta(at=7, kind="text", text="Yes."),
    ]


@pytest.mark.parametrize("between", [[], [AGENT_START], [{"type": "queue_update"}]])
def test_a_secret_streamed_in_two_halves_is_redacted(between: list[Record]) -> None:
    stream = Stdout()
    events = stream.feed(delta("the key: " + SECRET[:9])) + stream.take_pending()
    for record in between:
        events += stream.feed(record) + stream.take_pending()
    events += stream.feed(delta(SECRET[9:] + " ok")) + stream.finish()
    assert texts(events) == f"the key: {MARK} ok"


class Joining(PiDecoder):
    """Puts messages together from what it hears, as agents want it that tell no whole ones, and fails at one word."""

    def __init__(self) -> None:
        self.heard = ""

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        assert isinstance(frame, bytes)
        if frame == b"unheard of":
            raise KeyError(frame)
        self.heard += frame.decode()
        return [] if not frame.endswith(b".") else self.ended(0, at)

    def ended(self, exit_code: int, at: int) -> list[ev.AnyEvent]:
        parts = (ev.TextPart(self.heard), ev.ThinkingPart(self.heard))
        return [ev.Message(at=at, role="assistant", parts=parts, error_message=self.heard)]


@pytest.mark.parametrize("last", [b"ok.\n", b"ok"])
def test_a_secret_is_redacted_of_which_no_record_has_more_than_a_piece(last: bytes) -> None:
    stream = Stdout(Joining())
    events = stream.feed(*(f"{piece}\n".encode() for piece in (SECRET[:9], SECRET[9:])), last) + stream.finish()
    message = events[0]
    assert isinstance(message, ev.Message)
    assert [part.text for part in message.parts if isinstance(part, ev.TextPart | ev.ThinkingPart)] == [
        f"{MARK}{last.decode().strip()}"
    ] * 2
    assert SECRET not in str(events)


def test_a_record_that_a_decoder_fails_at_is_kept_and_costs_nothing_of_what_comes_with_it() -> None:
    events = Stdout(Joining()).feed(b"before \n", b"unheard of\n", b"after.\n")
    assert events[0] == ev.Output(at=7, text="unheard of")
    assert [event.text for event in events if isinstance(event, ev.Message)] == ["before after."]


class Beginning(PiDecoder):
    """Begins a message with its first piece, as agents do that announce none."""

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        assert isinstance(frame, bytes)
        return [ev.MessageStarted(at=at, role="assistant"), ev.Delta(at=at, kind="text", text=frame.decode())]


def test_the_log_keeps_no_piece_that_begins_a_message_either() -> None:
    stream = Stdout(Beginning())
    stream.feed(SECRET[:-1].encode() + b"\n")
    assert SECRET[:-1].encode() not in stream.log.getvalue()


class Printing(PiDecoder):
    """Hears a command print."""

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        assert isinstance(frame, bytes)
        return [ev.ToolProgress(at=at, id="1", name="bash", line=frame.decode())]


def test_a_secret_that_a_command_has_not_printed_to_its_end_is_not_shown() -> None:
    stream = Stdout(Printing())
    stream.feed(f"it is {SECRET[:-1]}\n".encode())
    assert stream.take_pending() == [ev.ToolProgress(at=7, id="1", name="bash", line=f"it is {MARK}")]


def test_a_secret_that_breaks_off_is_not_shown_either() -> None:
    stream = Stdout()
    stream.feed(delta("the key: " + SECRET[:-1]))
    assert texts(stream.finish()) == f"the key: {MARK}"


@given(st.lists(st.sampled_from([SECRET, SECRET[:4], SECRET[4:], "sk", "x", "é", "the key "]), max_size=8), st.data())
def test_no_way_of_streaming_gets_a_secret_through(words: list[str], data: st.DataObject) -> None:
    whole = "".join(words)
    stream = Stdout()
    events: list[ev.AnyEvent] = []
    rest = whole
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        events += stream.feed(delta(rest[:size]))
        rest = rest[size:]
        if data.draw(st.booleans()):
            events += stream.take_pending()
    events += stream.finish()
    assert SECRET not in texts(events)
    if SECRET[:8] not in whole:
        assert texts(events) == whole


@given(st.lists(st.sampled_from([SECRET, SECRET[:9], SECRET[9:], "sk", "é€😀", "\n"]), max_size=8), st.data())
def test_stderr_is_whole_characters_and_no_secrets_however_it_is_cut(words: list[str], data: st.DataObject) -> None:
    whole = "".join(words)
    rest = whole.encode()
    stream = TextStream(Redactor([SECRET]))
    text = ""
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        text += stream.feed(rest[:size])
        rest = rest[size:]
    text += stream.finish()
    assert SECRET not in text
    if SECRET[:8] not in whole:
        assert text == whole


def test_stderr_that_ends_inside_a_character_says_so() -> None:
    stream = TextStream(Redactor())
    assert stream.feed("né".encode()[:-1]) + stream.finish() == "n\N{REPLACEMENT CHARACTER}"


def test_a_record_too_large_to_keep_shows_no_secret_in_its_beginning() -> None:
    stream = Stdout()
    assert stream.feed(f'{{"key":"{SECRET}"'.encode() + b"x" * MAX_RECORD_BYTES) == []
    (dropped,) = stream.feed(b"\n")
    assert isinstance(dropped, ev.Dropped)
    assert dropped.head.startswith(f'{{"key":"{MARK}"')
    assert dropped.size == MAX_RECORD_BYTES + len(SECRET) + 9


def test_the_last_line_needs_no_ending() -> None:
    stream = Stdout()
    assert stream.feed(json.dumps(AGENT_SETTLED).encode()) == []
    assert [type(event) for event in stream.finish()] == [ev.AgentSettled]
