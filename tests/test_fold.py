"""A run's state follows from its journal, event by event."""

from __future__ import annotations

import tracemalloc

import msgspec
import pytest

from pi_subagents.fold import RunState, advance, fold
from pi_subagents.models import Reason, Status, Usage
from pi_subagents.models import event as ev
from pi_subagents.models.gathered import (
    MAX_MESSAGE_BYTES_IN_MEMORY,
    MAX_MESSAGES_IN_MEMORY,
    RecentMessages,
)
from pi_subagents.text.streamed import MAX_STREAMED_CHARACTERS, StreamedText

MEBI = 1024 * 1024
CREATED = ev.Created(
    at=10,
    run_id="r",
    session_id="s",
    name="build",
    prompt="Build it",
    cwd="/work",
    harness="pi-json",
    profile="coder",
    provider="acme",
    model="m1",
    thinking_level="high",
    timeout_s=600,
    file_count=2,
)

STARTED = ev.Started(at=20, pid=1, containment="guard")
DAMAGE = ev.Unknown(kind="damaged", record=msgspec.Raw(b'"{"'), ours=True)


def running(*events: ev.Event) -> RunState:
    return fold(RunState(), [CREATED, STARTED, *events])


def said(text: str = "", *calls: ev.ToolCallPart, **fields: object) -> ev.Message:
    parts = (*([ev.TextPart(text)] if text else []), *calls)
    return ev.Message(role="assistant", parts=parts, **fields)  # type: ignore[arg-type]


def call(name: str, **arguments: object) -> ev.ToolCallPart:
    return ev.ToolCallPart("1", name, arguments)


def test_a_new_run_knows_what_it_was_made_for() -> None:
    state = fold(RunState(), [CREATED])
    assert (state.status, state.created_at, state.started_at) == (Status.QUEUED, 10, None)
    assert (state.name, state.cwd, state.profile, state.model) == ("build", "/work", "coder", "m1")
    assert (state.thinking_level, state.timeout_s, state.file_count) == ("high", 600, 2)


def test_a_run_goes_from_queued_to_running_to_its_end() -> None:
    ended = ev.Ended(at=90, status=Status.FAILED, reason=Reason.EXIT, message="exited")
    state = running(ev.Exited(at=80, exit_code=3), ended)
    assert (state.status, state.reason, state.error, state.exit_code) == ("failed", "exit", "exited", 3)
    assert (state.started_at, state.completed_at, state.last_event_at) == (20, 90, 90)


def test_a_run_that_was_detached_is_a_background_run_of_whoever_detached_it() -> None:
    state = running(ev.Detached(at=50, owner="terminal"))
    assert (state.background, state.owner, state.status) == (True, "terminal", Status.RUNNING)


COMPLETED = ev.Ended(at=30, status=Status.COMPLETED, reason=Reason.SETTLED)
ABORTED = ev.Ended(at=40, status=Status.ABORTED, reason=Reason.CANCELLED, message="Cancelled")
RUNNING_STILL = ev.Ended(at=50, status=Status.RUNNING, reason=Reason.EXIT)
IMPOSSIBLE: list[tuple[str, list[ev.Event], Status, int | None, int | None]] = [
    ("started twice", [CREATED, STARTED, ev.Started(at=25, pid=2, containment="guard")], Status.RUNNING, 20, None),
    ("started after its end", [CREATED, ABORTED, STARTED], Status.ABORTED, None, 40),
    ("ended twice", [CREATED, STARTED, COMPLETED, ABORTED], Status.COMPLETED, 20, 30),
    ("completed, but never started", [CREATED, COMPLETED], Status.COMPLETED, None, 30),
    ("ended as running", [CREATED, STARTED, RUNNING_STILL], Status.FAILED, 20, 50),
]


def test_whoever_goes_on_with_a_damaged_run_can_end_it() -> None:
    state = fold(RunState(), [DAMAGE, CREATED])
    assert advance(state, [COMPLETED]).status is Status.COMPLETED


@pytest.mark.parametrize(
    ("events", "status", "started", "ended"), [case[1:] for case in IMPOSSIBLE], ids=[case[0] for case in IMPOSSIBLE]
)
def test_an_impossible_order_raises_while_we_write_and_is_damage_where_it_is_stored_and_the_first_move_decides(
    events: list[ev.Event], status: Status, started: int | None, ended: int | None
) -> None:
    with pytest.raises(ValueError, match="a run cannot go from"):
        advance(RunState(), events)
    state = fold(RunState(), events)
    assert (state.status, state.started_at, state.completed_at, state.is_damaged) == (status, started, ended, True)


def test_a_second_beginning_is_damage_and_the_first_decides() -> None:
    state = fold(RunState(), [CREATED, msgspec.structs.replace(CREATED, name="other"), STARTED])
    assert (state.name, state.status, state.is_damaged) == ("build", Status.RUNNING, True)


def test_a_run_is_what_its_directory_is_called_whatever_its_journal_says() -> None:
    state = fold(RunState.of_run("20261101T140322000-a3f7b9c2d1e8f4a1"), [CREATED])
    assert (state.run_id, state.session_id) == ("20261101T140322000-a3f7b9c2d1e8f4a1", "a3f7b9c2d1e8f4a1")
    assert (state.name, state.is_damaged) == ("build", True)


def test_an_end_in_the_words_of_another_version_is_an_end_and_no_damage() -> None:
    state = running(ev.Ended(at=30, status=Status("paused_forever"), reason=Reason("budget")))
    assert (state.status, state.reason, state.completed_at) == ("paused_forever", "budget", 30)
    assert state.status.is_terminal
    assert not state.is_damaged
    assert fold(state, [COMPLETED]).status == "paused_forever"


def test_of_an_unknown_time_the_one_before_comes_nearest() -> None:
    state = fold(RunState(), [CREATED, ev.Started(pid=1, containment="guard")])
    assert (state.started_at, state.last_event_at) == (10, 10)
    assert fold(RunState(), [msgspec.structs.replace(CREATED, at=0), ABORTED]).created_at is None


def test_no_sum_of_figures_is_too_large_for_those_who_add_it_up() -> None:
    absurd = Usage(input=10**400, output=-5, total_tokens=2**63, cost=float("nan"))
    usage = running(said("a", usage=absurd), said("b", usage=absurd), said("c", usage=Usage(cost=float("inf")))).usage
    assert usage == Usage(input=2**53, total_tokens=2**53, cost=2.0**53)
    assert running(said("a", usage=Usage(total_tokens=2**53, cost=1e308))).usage.cost == 2.0**53


def test_the_text_is_what_is_being_written_and_then_what_was_said_last() -> None:
    state = running(ev.Delta(kind="text", text="Hel"), ev.Delta(kind="thinking", text="hm"))
    assert state.text == "Hel"
    assert fold(state, [ev.Delta(kind="text", text="lo")]).text == "Hello"
    assert fold(state, [said("Hello!")]).text == "Hello!"
    assert fold(state, [said("", call("bash"))]).text == "Hello!"
    assert fold(state, [ev.Delta(kind="text", text="Next")]).text == "Next"


def test_the_model_that_answered_counts_not_the_one_that_was_asked_for() -> None:
    state = running(said("a", provider="other", model="m2"), said("b"))
    assert (state.provider, state.model) == ("other", "m2")


def test_an_error_is_forgotten_when_the_next_answer_is_good() -> None:
    state = running(said(stop_reason="error", error_message="429"))
    assert (state.stop_reason, state.error_message) == ("error", "429")
    fold(state, [said("fine", stop_reason="stop")])
    assert (state.stop_reason, state.error_message) == ("stop", None)


def test_costs_of_answers_and_of_tools_add_up() -> None:
    tool = ev.Message(role="toolResult", usage=Usage(input=1, cost=0.5))
    assert running(said("a", usage=Usage(input=10, output=2)), tool, tool).usage == Usage(12, 2, cost=1.0)


def test_tools_are_counted_by_name() -> None:
    state = running(said("", call("bash"), call("read")), said("", call("bash")))
    assert (state.tool_count, state.tools_called) == (3, {"bash": 2, "read": 1})


def test_an_answer_that_broke_off_called_nothing() -> None:
    assert running(said("", call("bash"), stop_reason="error")).tool_count == 0


TODOS = [
    ([call("write_todos", todos=["a", "b", "c"])], (3, 0)),
    ([call("write_todos", todos=["a"]), call("write_todos", todos=["b", "c"])], (2, 0)),
    ([call("write_todos", todos=["a"]), call("write_todos", todos=["b"], mode="append")], (2, 0)),
    ([call("write_todos", todos=["a", "b"]), call("edit_todos", action="complete", indices=[0])], (2, 1)),
    ([call("write_todos", todos=["a", "b"]), call("edit_todos", action="abandon", indices=[0, 1])], (2, 2)),
    ([call("write_todos", todos=["a"]), call("edit_todos", action="complete", indices=[0, 0, 0])], (1, 1)),
    ([call("write_todos", todos=["a"]), call("edit_todos", action="edit", indices=[0])], (1, 0)),
    ([call("write_todos", todos="not a list"), call("edit_todos", action=["x"], indices=None)], (0, 0)),
    ([call("edit_todos", action="complete", indices=[0]), call("write_todos")], (0, 0)),
]


@pytest.mark.parametrize(("calls", "counts"), TODOS)
def test_todos_are_counted(calls: list[ev.ToolCallPart], counts: tuple[int, int]) -> None:
    state = running(*[said("", one) for one in calls])
    assert (state.todo_total, state.todo_completed) == counts


def test_rewriting_the_todos_starts_their_count_anew_and_adding_to_them_does_not() -> None:
    done = call("edit_todos", action="complete", indices=[0, 1])
    state = running(said("", call("write_todos", todos=["a", "b", "c"])), said("", done))
    fold(state, [said("", call("write_todos", todos=["d"], mode="append"))])
    assert (state.todo_total, state.todo_completed) == (4, 2)
    fold(state, [said("", call("write_todos", todos=["e"]))])
    assert (state.todo_total, state.todo_completed) == (1, 0)


SETTLING: list[tuple[str, list[ev.Event], bool, bool]] = [
    ("nothing yet", [], False, False),
    ("a pass that ended", [ev.AgentEnded(will_retry=False)], False, True),
    ("a pass with a retry to come", [ev.AgentEnded(will_retry=True)], False, False),
    ("0.74", [ev.AgentEnded(will_retry=None)], True, True),
    ("settled", [ev.AgentEnded(will_retry=False), ev.AgentSettled()], True, True),
    ("at work again", [ev.AgentSettled(), ev.AgentStarted()], False, False),
    ("a new turn", [ev.AgentSettled(), ev.TurnStarted()], False, False),
    ("a retry", [ev.AgentEnded(will_retry=None), ev.RetryStarted()], False, False),
    ("a compaction", [ev.AgentEnded(will_retry=None), ev.CompactionStarted()], False, False),
    ("a compaction that is over", [ev.CompactionStarted(), ev.CompactionEnded()], False, True),
    ("one with a retry", [ev.CompactionStarted(), ev.CompactionEnded(will_retry=True)], False, False),
]


@pytest.mark.parametrize(("events", "settled", "ended"), [s[1:] for s in SETTLING], ids=[s[0] for s in SETTLING])
def test_whether_the_agent_has_anything_left_to_do(events: list[ev.Event], settled: bool, ended: bool) -> None:
    state = running(*events)
    assert (state.settled, state.pass_ended) == (settled, ended)


def test_the_first_cause_to_stop_is_kept_unless_the_agent_had_settled() -> None:
    timeout = ev.StopRequested(reason=Reason.TIMEOUT, message="late")
    cancel = ev.StopRequested(reason=Reason.CANCELLED, message="Cancelled")
    assert running(timeout, cancel).stop == timeout
    assert running(ev.AgentSettled(), cancel).stop is None
    assert running(ev.AgentEnded(will_retry=False), cancel).stop == cancel


def test_the_most_telling_line_of_stderr_is_remembered() -> None:
    assert running(ev.Stderr(text="one\n  two \n\n"), ev.Stderr(text="\n \n")).complaint == "one"
    told = running(ev.Stderr(text="starting\n"), ev.Stderr(text="Error: no key\n  at x\n"), ev.Stderr(text="fatal\n"))
    assert told.complaint == "Error: no key"


def test_the_thinking_level_follows_the_agent() -> None:
    assert running(ev.ThinkingLevelChanged(level="low")).thinking_level == "low"


def test_memory_is_bounded_but_the_count_is_not() -> None:
    state = running(*[said(f"message {number}") for number in range(MAX_MESSAGES_IN_MEMORY + 100)])
    assert len(state.messages) == MAX_MESSAGES_IN_MEMORY
    assert state.message_count == MAX_MESSAGES_IN_MEMORY + 100
    assert state.messages[-1].text == f"message {MAX_MESSAGES_IN_MEMORY + 99}"


def test_what_is_unknown_changes_nothing_but_the_time() -> None:
    state = running(ev.Output(at=500, text="junk"))
    before = running()
    before.last_event_at = 500
    assert state == before


def test_a_damaged_line_hides_a_move_but_not_the_end() -> None:
    state = fold(RunState(), [CREATED, DAMAGE, COMPLETED])
    assert (state.status, state.is_damaged) == (Status.COMPLETED, True)


def test_an_agent_cannot_make_its_run_look_damaged() -> None:
    assert not running(said("Hi"), COMPLETED).is_damaged
    assert not running(ev.Unknown(kind="damaged", record=msgspec.Raw(b"{}"))).is_damaged


# --- however much an agent says, a program that listens holds only so much of it ----------------------------------


def streamed(*pieces: str) -> StreamedText:
    text = StreamedText()
    for piece in pieces:
        text.add(piece)
    return text


def test_a_streamed_text_is_what_its_pieces_say() -> None:
    assert str(streamed("Hel", "", "lo")) == "Hello"
    assert not streamed("", "")
    long = [f"{number:07}\n" * 64 for number in range(MAX_STREAMED_CHARACTERS // 512)]
    assert str(streamed(*long)) == "".join(long)


def test_of_a_message_that_never_ends_the_beginning_and_the_end_are_kept_and_what_is_missing_is_said() -> None:
    state = fold(RunState(), (ev.Delta(kind="text", text=f"{number:07}\n" * 64) for number in range(12_000)))
    assert len(state.text) < MAX_STREAMED_CHARACTERS + MEBI
    assert state.text.startswith("0000000\n")
    assert state.text.endswith("0011999\n")
    note = next(line for line in state.text.splitlines() if line.startswith("["))
    left_out = 12_000 * 64 * 8 - (len(state.text) - len(f"\n\n{note}\n\n"))
    assert note == f"[… {left_out:,} characters of this message left out …]"


def test_one_piece_that_is_too_long_by_itself_is_cut_too() -> None:
    text = str(streamed("begin" + "x" * (8 * MEBI) + "end"))
    assert len(text) < MAX_STREAMED_CHARACTERS + MEBI
    assert text.startswith("begin")
    assert text.endswith("end")


def test_a_text_that_comes_letter_by_letter_takes_little_more_than_its_letters() -> None:
    tracemalloc.start()
    try:
        text = StreamedText()
        for number in range(60_000):
            text.add(f"{number % 1000:03}")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * MEBI


def test_long_messages_make_room_for_each_other_and_the_last_one_stays() -> None:
    messages = RecentMessages()
    for number in range(100):
        messages.append(said(f"{number}" + "x" * (MEBI // 2)))
    assert sum(len(held.text) for held in messages) <= MAX_MESSAGE_BYTES_IN_MEMORY
    assert len(messages) == 7
    assert messages[-1].text.startswith("99")
    messages.append(said("y" * (2 * MAX_MESSAGE_BYTES_IN_MEMORY)))
    assert [held.text[:1] for held in messages] == ["y"]


def test_messages_that_left_memory_are_still_counted_and_tool_names_do_not_pile_up() -> None:
    state = fold(RunState(), (said("", call(f"{number}" + "n" * 10_000)) for number in range(3000)))
    assert (state.message_count, state.tool_count) == (3000, 3000)
    assert sum(map(len, state.tools_called)) < MEBI


def test_files_that_an_agent_tells_of_or_writes_with_its_tools_are_kept_once_in_their_order() -> None:
    state = running(
        ev.ToolStarted(id="1", name="write", arguments={"path": "b.txt"}),
        ev.ToolEnded(id="1", name="write"),
        ev.ToolStarted(id="2", name="edit", arguments={"path": "missing.txt"}),
        ev.ToolEnded(id="2", name="edit", is_error=True),
        ev.ToolStarted(id="3", name="edit", arguments={"path": "asked.txt"}),
        ev.FileChanged(path="/work/told.txt", tool_call_id="3"),
        ev.ToolEnded(id="3", name="edit"),
        ev.FileChanged(path="/work/../work/b.txt"),
        ev.ToolStarted(id="4", name="read", arguments={"path": "c.txt"}),
        ev.ToolEnded(id="4", name="read"),
    )
    assert state.changed_files == ["/work/b.txt", "/work/told.txt"]


TOTAL = ev.UsageTotal(usage=Usage(total_tokens=5, cost=0.5))


@pytest.mark.parametrize(
    ("harness", "events", "knows_tokens", "knows_cost"),
    [
        ("pi-json", [ev.AgentStarted()], True, True),
        ("claude", [], True, True),
        ("claude", [ev.AgentStarted()], False, False),
        ("claude", [ev.AgentStarted(), TOTAL], True, True),
        ("claude", [ev.AgentStarted(), TOTAL, ev.AgentStarted()], True, False),
        ("claude", [ev.AgentStarted(), ev.Message(role="assistant", usage=Usage(cost=0.5))], False, True),
        ("claude", [ev.AgentStarted(), TOTAL, ev.Message(role="assistant", usage=Usage(total_tokens=2))], True, False),
        ("codex", [ev.AgentStarted(), ev.UsageTotal(usage=Usage(total_tokens=5), has_cost=False)], True, False),
        ("opencode", [ev.AgentStarted(), ev.UsageTotal(usage=Usage(cost=0.5))], False, True),
    ],
)
def test_what_no_agent_has_told_of_its_tokens_and_cost_is_not_known(
    harness: str, events: list[ev.Event], knows_tokens: bool, knows_cost: bool
) -> None:
    state = fold(RunState(harness=harness), events)
    assert (state.knows_tokens, state.knows_cost) == (knows_tokens, knows_cost)


def test_what_is_used_after_a_total_is_added_until_the_next_one() -> None:
    state = fold(RunState(harness="claude"), [TOTAL, ev.Message(role="assistant", usage=Usage(total_tokens=90))])
    assert (state.usage.total_tokens, state.usage.cost) == (95, 0.5)
    fold(state, [ev.UsageTotal(usage=Usage(total_tokens=94))])
    assert state.usage.total_tokens == 94


@pytest.mark.parametrize(("mode", "beginning"), [(None, "fresh"), ("native", "resumed"), ("retell", "retold")])
def test_a_run_says_what_its_agent_knew_of_the_session(mode: str | None, beginning: str) -> None:
    state = fold(RunState(), [msgspec.structs.replace(CREATED, resume_mode=mode)])
    assert state.beginning == beginning
