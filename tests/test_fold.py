"""A run's state follows from its journal, event by event."""

from __future__ import annotations

import msgspec
import pytest

from pi_subagents.fold import RunState, fold
from pi_subagents.memory import MAX_MESSAGES_IN_MEMORY
from pi_subagents.models import Reason, Status, Usage
from pi_subagents.models import event as ev

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


@pytest.mark.parametrize(
    "events",
    [
        [STARTED],
        [ev.Ended(status=Status.COMPLETED, reason=Reason.SETTLED), STARTED],
        [ev.Ended(status=Status.FAILED, reason=Reason.LOST), ev.Ended(status=Status.ABORTED, reason=Reason.LOST)],
    ],
    ids=["started twice", "started after its end", "ended twice"],
)
def test_an_illegal_move_raises(events: list[ev.Event]) -> None:
    with pytest.raises(ValueError, match="a run cannot go from"):
        running(*events)


def test_a_run_that_never_ran_cannot_be_completed() -> None:
    with pytest.raises(ValueError, match="from queued to completed"):
        fold(RunState(), [CREATED, ev.Ended(status=Status.COMPLETED, reason=Reason.SETTLED)])


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


def test_rewriting_the_todos_starts_their_count_anew() -> None:
    done = call("edit_todos", action="complete", indices=[0])
    state = running(said("", call("write_todos", todos=["a", "b"])), said("", done))
    fold(state, [said("", call("write_todos", todos=["c"], mode="append"))])
    assert (state.todo_total, state.todo_completed) == (3, 0)


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
    damaged = ev.Unknown(kind="damaged", record=msgspec.Raw(b'"{"'))
    ended = ev.Ended(at=9, status=Status.COMPLETED, reason=Reason.SETTLED)
    assert fold(RunState(), [damaged, ended]).status is Status.COMPLETED
