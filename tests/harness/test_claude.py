"""What real `claude` processes printed, decoded: every stream as it came, and cut wherever it could be."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from pi_subagents.fold import RunState, fold
from pi_subagents.harness.claude.dialogue import ClaudeDialogue
from pi_subagents.jsonl import Framer
from pi_subagents.models import event as ev

STREAMS = sorted((Path(__file__).parent.parent / "data" / "workers" / "claude").glob("*.jsonl"))
_LAST_BYTES = 3000
E = TypeVar("E", bound=ev.Event)
AT = 1_700_000_000_000


def decoded(data: bytes) -> list[ev.AnyEvent]:
    dialogue, framer = ClaudeDialogue(), Framer()
    frames = [*framer.feed(data), *framer.finish()]
    return [event for frame in frames for event in dialogue.decode(frame, AT)] + dialogue.ended(0, AT)


def of_stream(name: str) -> tuple[RunState, list[ev.AnyEvent]]:
    path = next(path for path in STREAMS if path.stem == name)
    events = decoded(path.read_bytes())
    return fold(RunState(), events), events


def those(events: Sequence[ev.AnyEvent], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.stem)
def test_nothing_in_a_real_stream_is_unknown(stream: Path) -> None:
    unknown = {event.kind for event in those(decoded(stream.read_bytes()), ev.Unknown)}

    assert unknown <= {"conversation_reset"}


@pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.stem)
def test_a_stream_may_break_off_at_every_byte_of_its_end_and_all_that_came_before_is_kept(stream: Path) -> None:
    data = stream.read_bytes()
    dialogue, events, start = ClaudeDialogue(), list[ev.AnyEvent](), 0

    for record in data.splitlines(keepends=True):
        is_of_the_end = start + len(record) > len(data) - _LAST_BYTES
        for end in range(1, len(record) - 1) if is_of_the_end else ():
            assert_breaks_off(dialogue, record[:end])
        events += (event for frame in Framer().feed(record) for event in dialogue.decode(frame, AT))
        start += len(record)
        if is_of_the_end:
            state = fold(RunState(), [*events, *copy.deepcopy(dialogue).ended(1, AT)])
            assert streamed(events) in state.text
            assert state.settled is fold(RunState(), events).settled


def assert_breaks_off(dialogue: ClaudeDialogue, piece: bytes) -> None:
    """Expect a piece of a record to be shown as it is, to mean nothing, and to leave the end as it was."""
    cut, framer = copy.deepcopy(dialogue), Framer()
    [frame] = [*framer.feed(piece), *framer.finish()]
    [shown] = cut.decode(frame, AT)
    assert isinstance(shown, ev.Output)
    assert cut.ended(1, AT) == copy.deepcopy(dialogue).ended(1, AT)


def streamed(events: Sequence[ev.AnyEvent]) -> str:
    """What came of a message that is not whole yet."""
    pieces: list[str] = []
    for event in events:
        if isinstance(event, ev.MessageStarted | ev.Message):
            pieces = []
        elif isinstance(event, ev.Delta) and event.kind == "text":
            pieces.append(event.text)
    return "".join(pieces)


def test_an_answer_is_whole_and_the_run_is_settled() -> None:
    state, _ = of_stream("plain")

    assert (state.text, state.settled, state.stop_reason) == ("Hello there.", True, "stop")
    assert state.conversation == "5aa3c3ef-0c2b-40e3-8900-7bd6b8afdae6"


def test_what_it_costs_is_unknown_where_claude_makes_it_up() -> None:
    state, _ = of_stream("plain")

    assert (state.usage.input, state.usage.output, state.usage.cost) == (11497, 3, 0.0)
    assert not state.has_cost
    assert state.context_size == 1_000_000


def test_every_call_is_started_and_ended_under_our_names() -> None:
    _, events = of_stream("edit")

    started = [(event.id, event.name, event.arguments.get("path")) for event in those(events, ev.ToolStarted)]
    assert [name for _, name, _ in started] == ["read", "edit"]
    assert [event.id for event in those(events, ev.ToolEnded)] == [call_id for call_id, _, _ in started]
    assert all(path for _, _, path in started)


def test_an_edit_is_told_as_a_diff_of_its_file() -> None:
    _, events = of_stream("edit")

    [changed] = those(events, ev.FileChanged)
    assert changed.path.endswith("well.txt")
    assert "-the well is under the oak\n+the well is under the elm\n" in changed.diff


def test_a_new_file_is_told_as_a_diff_too() -> None:
    _, events = of_stream("write")

    [changed] = those(events, ev.FileChanged)
    assert changed.diff.splitlines()[0] == "--- /dev/null"
    assert changed.diff.endswith("@@ -0,0 +1,2 @@\n+one\n+two\n")


def test_a_failing_tool_is_an_error_and_changes_nothing() -> None:
    _, events = of_stream("fail")

    assert [event.is_error for event in those(events, ev.ToolEnded)] == [True, True]
    assert not those(events, ev.FileChanged)


def test_a_retry_is_visible_with_its_delay() -> None:
    _, events = of_stream("429")

    [retry] = those(events, ev.RetryStarted)
    assert (retry.attempt, retry.delay_ms, retry.message) == (1, 2000, "429 rate_limit")


def test_an_error_of_the_provider_is_no_answer() -> None:
    state, _ = of_stream("overflow")

    assert (state.text, state.stop_reason) == ("", "error")
    assert state.error_message is not None
    assert state.error_message.startswith("Prompt is too long")


@pytest.mark.parametrize("stream", ["max-turns", "budget"])
def test_a_limit_that_was_reached_is_told_as_one(stream: str) -> None:
    state, _ = of_stream(stream)

    assert state.stop_reason == ev.LIMIT
    assert state.error_message is not None
    assert state.error_message.startswith("Reached maximum")


def test_an_interrupt_settles_as_aborted_and_keeps_what_was_said() -> None:
    state, _ = of_stream("interrupt-text")

    assert (state.aborted, state.text) == (True, "I begin to say")


def test_words_of_its_own_sub_agents_are_progress_and_never_the_answer() -> None:
    _, events = of_stream("sub-nobg")

    said = [event.text for event in those(events, ev.Message) if event.role == "assistant"]
    assert said == ["I delegate.", "Delegation done."]
    assert those(events, ev.ToolProgress)


def test_a_run_is_not_over_while_something_goes_on_in_the_background() -> None:
    _, events = of_stream("bg-bash")

    last_words = max(index for index, event in enumerate(events) if isinstance(event, ev.Message))
    assert [index > last_words for index, event in enumerate(events) if isinstance(event, ev.AgentSettled)] == [True]


def test_a_request_for_permission_is_answered_with_the_arguments_of_the_call() -> None:
    dialogue = ClaudeDialogue()
    data = next(path for path in STREAMS if path.stem == "permission-allow").read_bytes()
    events = [event for frame in Framer().feed(data) for event in dialogue.decode(frame, AT)]

    [request] = those(events, ev.ApprovalRequested)
    assert request.tool_name == "edit"
    answer = dialogue.answer(request.id, allowed=True)
    assert b'"behavior":"allow"' in answer
    assert b'"old_string":"oak"' in answer
    assert b'"behavior":"deny"' in dialogue.answer(request.id, allowed=False)


def test_a_wrong_key_is_given_up_after_two_refusals() -> None:
    dialogue = ClaudeDialogue()
    data = next(path for path in STREAMS if path.stem == "401").read_bytes()
    replies = []
    for frame in Framer().feed(data):
        dialogue.decode(frame, AT)
        replies.append(dialogue.take_replies())

    assert [b"interrupt" in reply for reply in replies if reply] == [True]
