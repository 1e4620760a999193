"""A journal does not grow without end, and whatever ends a run is in it all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from pi_subagents.export import Noticed
from pi_subagents.fold import RunState, fold
from pi_subagents.models import event as ev
from pi_subagents.progress import ProgressWords, Window
from pi_subagents.store import JOURNAL_FILE
from pi_subagents.supervisor import Limits
from pi_subagents.testing import FakeProcess
from pi_subagents.testing.fakes import Play
from pi_subagents.testing.records import AGENT_SETTLED, Record, answer, assistant, delta, tool_call, tool_result
from tests.export.kit import entries_of
from tests.supervisor.kit import CANCELLED, Outcome, printing, see_through, stopping

BOUND = 20_000
SMALL = Limits(timeout_s=None, journal_bytes=BOUND)
PIECE = delta("x" * 1000)
SENTENCE = (
    "The journal has reached 3 MB: from here on it leaves out details, such as streamed and printed text, "
    "and cuts long messages"
)


def talking(*records: Record, times: int = 1, then: Sequence[Record] = ()) -> Play:
    """An agent that prints records again and again, each after a while of its own, and then others."""
    return printing(*(step for record in (*records * times, *then) for step in (record, 0.2)))


def size_of(outcome: Outcome) -> int:
    return (outcome.run_dir / JOURNAL_FILE).stat().st_size


def kinds_of(outcome: Outcome) -> list[str]:
    return [type(event).__name__ for event in outcome.journal]


def test_beyond_its_bound_a_journal_leaves_out_details_says_so_once_and_the_run_completes(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, talking(PIECE, times=200, then=answer("Done.")), SMALL)
    assert outcome.state.status == "completed"
    assert outcome.state.text == "Done."
    assert size_of(outcome) < BOUND + 5000
    kinds = kinds_of(outcome)
    assert kinds.count("DetailsDropped") == 1
    assert kinds.count("Delta") < 25
    assert kinds.index("DetailsDropped") > len(kinds) - 1 - kinds[::-1].index("Delta")
    assert kinds[-6:] == ["AgentStarted", "Message", "AgentEnded", "AgentSettled", "Exited", "Ended"]
    assert fold(RunState(), outcome.journal) == outcome.state


DETAILS: dict[str, Record | bytes] = {
    "tool progress": {
        **{"type": "tool_execution_update", "toolCallId": "1", "toolName": "b"},
        "partialResult": {"content": [{"type": "text", "text": "y" * 150}]},
    },
    "unknown": {"type": "something_new", "padding": "z" * 1000},
    "entry": {"type": "entry_appended", "entry": {"padding": "z" * 1000}},
    "output": b"no record " + b"p" * 1000 + b"\n",
    "repaired": b'{"type":"message_update","bad":"\\ud83d' + b"q" * 1000 + b'"}\n',
}


@pytest.mark.parametrize("detail", DETAILS)
def test_no_kind_of_detail_gets_past_the_bound(detail: str, tmp_path: Path) -> None:
    steps = [PIECE] * 30, *[DETAILS[detail], 0.2] * 300, answer("Done.")
    outcome = see_through(tmp_path, printing(*steps), SMALL)
    assert outcome.state.status == "completed"
    assert size_of(outcome) < 2 * BOUND


def test_what_is_printed_on_stderr_does_not_get_past_it_either(tmp_path: Path) -> None:
    async def play(process: FakeProcess) -> int:
        process.prints(*[PIECE] * 30)
        for _ in range(300):
            process.writes(b"e" * 500 + b"\n", "stderr")
            await asyncio.sleep(0.2)
        process.prints(*answer("Done."))
        return 0

    outcome = see_through(tmp_path, play, SMALL)
    assert outcome.state.status == "completed"
    assert size_of(outcome) < 2 * BOUND


def test_messages_beyond_the_bound_are_cut_and_say_so(tmp_path: Path) -> None:
    bound = 1_000_000
    huge = assistant("w" * 500_000, tool_call("bash", command="c" * 200_000), tool_call("bash", "2", command="ls"))
    small = assistant("short", tool_call("bash", "3", command="ls"))
    play = talking(huge, huge, huge, tool_result("bash", "r" * 300_000), small, then=answer("Done."))
    outcome = see_through(tmp_path, play, Limits(journal_bytes=bound))
    assert outcome.state.status == "completed"
    messages = [event for event in outcome.journal if isinstance(event, ev.Message)]
    whole, _, cut, result, unchanged, _ = messages
    assert (len(whole.text), whole.truncated) == (500_000, False)
    assert cut.text == "w" * 65_536 + "\n[… 434,464 characters left out …]"
    assert (cut.truncated, cut.stop_reason) == (True, "toolUse")
    assert (len(result.text) < 70_000, result.truncated, result.tool_call_id) == (True, True, "1")
    assert (unchanged.text, unchanged.truncated, unchanged.tool_calls[0].arguments) == (
        "short",
        False,
        {"command": "ls"},
    )


def test_a_call_with_huge_arguments_stays_a_call_beyond_the_bound(tmp_path: Path) -> None:
    write = assistant("", tool_call("write", path="a" * 300_000))
    outcome = see_through(tmp_path, talking(PIECE, times=25, then=(write, *answer("Done."))), SMALL)
    call = next(event for event in outcome.journal if isinstance(event, ev.Message)).tool_calls[0]
    assert (call.name, call.arguments) == ("write", {})
    assert outcome.state.tool_count == 1


def test_calls_that_a_tool_made_are_kept_and_cut_beyond_the_bound(tmp_path: Path) -> None:
    result = tool_result("codemode", "done")
    calls = [{"name": "read", "arguments": {"path": "a"}}, {"name": "write", "arguments": {"text": "b" * 100_000}}]
    result["message"]["nestedCalls"] = {"calls": calls}
    outcome = see_through(tmp_path, talking(PIECE, times=25, then=(result, *answer("Done."))), SMALL)
    told = next(event for event in outcome.journal if isinstance(event, ev.Message))
    assert [(call.name, call.arguments) for call in told.nested_calls] == [("read", {"path": "a"}), ("write", {})]
    assert (told.truncated, outcome.state.status) == (True, "completed")


def test_a_message_of_a_million_parts_is_cut_like_a_long_one(tmp_path: Path) -> None:
    record = assistant("x")
    record["message"]["content"] *= 100_000
    outcome = see_through(tmp_path, talking(PIECE, times=25, then=(record, *answer("Done."))), SMALL)
    assert size_of(outcome) < BOUND + 100_000


FOREVER: dict[str, Record] = {
    "messages": assistant("m" * 3000),
    "turns": {"type": "turn_start"},
    "retries": {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 2, "delayMs": 0, "errorMessage": "e" * 3000},
    "messages in an unknown role": {"type": "message_end", "message": {"role": "r" * 5000, "content": "x"}},
}


@pytest.mark.parametrize("record", FOREVER.values(), ids=list(FOREVER))
def test_an_agent_that_goes_on_for_ever_is_stopped_at_twice_the_bound(record: Record, tmp_path: Path) -> None:
    outcome = see_through(tmp_path, talking(record, times=100_000), Limits(None, loop_count=0, journal_bytes=BOUND))
    assert outcome.verdict == (
        "failed",
        "record",
        "Stopped: its journal has grown to twice the 0 MB that subagents.maxJournalMb allows",
    )
    assert outcome.signals
    assert size_of(outcome) < 2 * BOUND + 10_000
    assert kinds_of(outcome)[-3:] == ["StopRequested", "Exited", "Ended"]


def test_a_run_that_had_settled_stays_completed_however_much_its_agent_prints_after_that(tmp_path: Path) -> None:
    flood = [assistant("m" * 3000) for _ in range(100)]
    play = printing(answer("Done."), flood, AGENT_SETTLED, [*flood, {"type": "turn_start"}], 1000)
    outcome = see_through(tmp_path, play, SMALL)
    assert outcome.state.status == "completed"
    assert outcome.elapsed_s < 10


def test_a_stop_is_written_into_a_journal_that_takes_nothing_else(tmp_path: Path) -> None:
    play = printing([assistant("m" * 3000)] * 30, 1000)
    assert see_through(tmp_path, play, SMALL, meanwhile=stopping(5)).verdict == CANCELLED


def test_the_note_is_a_sentence_wherever_the_run_is_shown() -> None:
    dropped = ev.DetailsDropped(bound=3_000_000)
    window = Window(RunState())
    assert window.apply(dropped)
    assert [line.text for line in window.lines] == [SENTENCE]
    assert ProgressWords().say(dropped) == SENTENCE
    assert entries_of([dropped]) == [Noticed(SENTENCE)]
