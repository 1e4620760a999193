"""What a window holds after which events."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from pi_subagents.models import Reason, Status, Usage
from pi_subagents.models import event as ev
from pi_subagents.progress import Window
from pi_subagents.text import Style
from tests.progress.windows_kit import COMPLETED, CREATED, FAILED, STARTED, assistant, call, feed, result, window_of

RETRY = ev.RetryStarted(attempt=1, max_attempts=3, delay_ms=2000, message="overloaded")
RETRY_WORDS = "Model error, retrying in 2 s (1/3): overloaded"


def texts(window: Window) -> list[str]:
    return [line.text for line in window.lines]


def live(window: Window) -> list[str]:
    return [text for _, text in window.live_lines]


_LS = ev.ToolStarted(id="1", name="ls", arguments={})
_READ = call("1", "read", path="/home/ann/project/a.ts")
_ATTACK = "a\x1b[2J\x1b]0;title\x07b\rc\u202e"
LINES: dict[str, tuple[list[ev.Event], list[str]]] = {
    "text and calls stand in the order of the message": (
        [CREATED, assistant("One\n\n  two  ", _READ, "three")],
        ["One", "  two", "→ read → a.ts", "three"],
    ),
    "only the agent's messages are shown": (
        [
            ev.Message(role="user", parts=(ev.TextPart("the prompt"),)),
            assistant(ev.ThinkingPart("hm")),
            result("1", "read", "contents"),
        ],
        [],
    ),
    "what a list held stands below its own call": (
        [
            assistant(call("1", "ls", path="src"), call("2", "find", pattern="*.py")),
            result("2", "find", "No files found matching pattern"),
            result("1", "ls", "a.py\nb.py\nsub/"),
        ],
        ["→ ls → src", "  2 files, 1 dir", "→ find → *.py", "  0 matches"],
    ),
    "a list that was cut or failed": (
        [
            assistant(call("1", "ls"), call("2", "ls", path="x")),
            result("1", "ls", "a", truncated=True),
            result("2", "ls", "Path not found", is_error=True),
            result("unknown", "ls", "(empty directory)"),
        ],
        ["→ ls → .", "  1 file+", "→ ls → x", "  (empty)"],
    ),
    "a call is shown once: the message first": ([assistant(call("1", "ls")), _LS], ["→ ls → ."]),
    "a call is shown once: its start first": ([_LS, assistant(call("1", "ls"))], ["→ ls → ."]),
    "a call is shown once: only its start": ([_LS], ["→ ls → ."]),
    "calls without an id are all shown": ([assistant(call("", "ls"), call("", "ls"))], ["→ ls → ."] * 2),
    "other output of the process is shown": (
        [ev.Output(text="npm notice\n"), ev.Stderr(text="oops\n\nagain\n")],
        ["npm notice", "[stderr]: oops", "[stderr]: again"],
    ),
    "no output can move the cursor": (
        [ev.Output(text=_ATTACK), assistant(_ATTACK), ev.Stderr(text=_ATTACK)],
        ["ab", "c", "ab", "c", "[stderr]: ab", "[stderr]: c"],
    ),
    "where the agent works is not known": ([assistant(_READ)], ["→ read → ~/project/a.ts"]),
    "what is missing is admitted": (
        [ev.Dropped(size=9, head=""), ev.ExtensionFailed(path="x.ts", message="boom")],
        ["Left out a record of 9 bytes: too large to keep", "Extension failed: x.ts: boom"],
    ),
}


@pytest.mark.parametrize(("events", "lines"), LINES.values(), ids=LINES)
def test_a_window_has_a_line_for_what_an_agent_says_and_does(events: list[ev.Event], lines: list[str]) -> None:
    assert texts(window_of(*events)) == lines


def test_a_long_command_continues_below_its_line() -> None:
    command = "npm ci && npm run build && npm test"
    window = window_of(assistant(call("1", "bash", command=command)), preview_width=20)
    assert texts(window) == ["→ bash → npm ci", "  │ && npm run build", "  │ && npm test"]


def test_lines_of_tools_and_of_text_can_be_told_apart() -> None:
    window = window_of(assistant("One", call("1", "ls", path="src"), "two"), result("1", "ls", "a.py"))
    assert [line.kind for line in window.lines] == ["text", "tool", "tool", "text"]


def test_the_last_lines_and_the_last_five_hundred_are_kept() -> None:
    window = window_of(*(ev.Output(text=str(n)) for n in range(2345)), max_lines=3)
    assert texts(window) == ["2342", "2343", "2344"]
    assert [line.text for line in window.all_messages] == [str(n) for n in range(1845, 2345)]


def test_fifteen_lines_unless_told_otherwise() -> None:
    assert len(window_of(ev.Output(text="x\n" * 40)).lines) == 15
    assert window_of(ev.Output(text="x"), max_lines=0).lines == []


@pytest.mark.parametrize(
    "event",
    [
        ev.Output(text="x" * 1_000_000),
        ev.Delta(kind="text", text="x" * 5000),
        ev.ToolProgress(id="1", name="bash", line="x" * 1_000_000),
    ],
)
def test_a_line_longer_than_any_screen_is_cut(event: ev.Event) -> None:
    window = window_of(event)
    [line] = [*texts(window), *live(window)]
    assert len(line.strip()) == 2000
    assert "…" in (line[0], line[-1])  # of what is being written the end is shown, of everything else the beginning


def test_text_shows_while_it_is_written_and_its_message_replaces_it() -> None:
    window = window_of(ev.Delta(kind="thinking", text="Let me"), ev.Delta(kind="thinking", text=" see\n"))
    feed(window, ev.Delta(kind="text", text="I am\nha"))
    feed(window, ev.Delta(kind="text", text="lf \x1b[31mway"))
    feed(window, ev.Delta(kind="toolCall", text='{"path"'))
    assert window.live_lines == [
        (Style.DIM, "Let me see"),
        (Style.TEXT, "I am"),
        (Style.TEXT, "half way"),
    ]
    assert texts(window) == []
    feed(window, assistant("I am\nhalf way there"))
    assert live(window) == []
    assert texts(window) == ["I am", "half way there"]


def test_looking_between_two_pieces_changes_nothing() -> None:
    window = window_of()
    for number in range(50):
        feed(window, ev.Delta(kind="thinking" if number % 20 < 5 else "text", text=f"{number} "))
        live(window)
    once = window_of(*(ev.Delta(kind="thinking" if n % 20 < 5 else "text", text=f"{n} ") for n in range(50)))
    assert window.live_lines == once.live_lines


def test_only_the_end_of_a_flood_of_text_is_held() -> None:
    window = window_of(*(ev.Delta(kind="text", text=f"line {n}\n") for n in range(100_000)))
    assert live(window)[-1] == "line 99999"
    assert len(live(window)) < 1000


def test_text_of_a_failed_attempt_goes_when_the_next_message_begins() -> None:
    window = window_of(ev.Delta(kind="text", text="half"), ev.MessageStarted(role="assistant"))
    assert live(window) == []
    window = window_of(ev.Delta(kind="text", text="half"), ev.MessageStarted(role="toolResult"))
    assert live(window) == ["half"]


def test_what_the_agent_was_saying_when_it_died_stays_visible() -> None:
    assert live(window_of(CREATED, STARTED, ev.Delta(kind="text", text="I will"), FAILED)) == ["I will"]


def test_a_running_tools_last_line_shows_until_it_ends() -> None:
    window = window_of(ev.ToolProgress(id="1", name="bash", line="10 \x1b[2K%\t"))
    assert window.live_lines == [(Style.DIM, "  10 %")]
    feed(window, ev.ToolProgress(id="1", name="bash", line="20 %"))
    assert live(window) == ["  20 %"]
    for end in (ev.ToolEnded(id="1", name="bash"), result("1", "bash", "done")):
        window = window_of(ev.ToolProgress(id="1", name="bash", line="20 %"), end)
        assert live(window) == []


def test_a_retry_is_told_until_the_agent_goes_on() -> None:
    window = window_of(RETRY)
    assert window.live_lines == [(Style.WARNING, RETRY_WORDS)]
    for next_event in (
        ev.Delta(kind="text", text="x"),
        assistant("x"),
        ev.RetryEnded(success=True),
        ev.MessageStarted(role="assistant"),
    ):
        window = window_of(RETRY, next_event)
        assert RETRY_WORDS not in live(window)


def test_when_the_run_has_ended_nothing_goes_on() -> None:
    progress = ev.ToolProgress(id="1", name="bash", line="20 %")
    assert live(window_of(CREATED, STARTED, RETRY, progress, FAILED)) == []


def test_compaction_is_told() -> None:
    assert live(window_of(ev.CompactionStarted())) == ["Compacting the conversation"]
    assert live(window_of(ev.CompactionStarted(), ev.CompactionEnded())) == ["Compaction finished"]


def test_a_stop_is_told_until_the_run_has_ended() -> None:
    stop = ev.StopRequested(reason=Reason.TIMEOUT, message="Timed out after 7s.")
    window = window_of(CREATED, STARTED, stop, ev.Delta(kind="text", text="still"), assistant("still going"))
    assert live(window) == ["Stopping: Timed out after 7s."]
    feed(window, FAILED)
    assert live(window) == []


@pytest.mark.parametrize(
    ("event", "changed"),
    [
        (CREATED, True),
        (ev.Delta(kind="text", text="x"), True),
        (ev.Delta(kind="toolCall", text="x"), False),
        (assistant(), True),
        (ev.Message(role="user"), False),
        (result("1", "read", "x"), False),
        (result("1", "ls", "x"), True),
        (ev.Output(text="x"), True),
        (ev.Output(text=" \n"), False),
        (ev.Stderr(text="\n"), False),
        (ev.ToolStarted(id="1", name="x"), True),
        (ev.ToolEnded(id="1", name="x"), False),
        (ev.ToolProgress(id="1", name="x", line="y"), True),
        (RETRY, True),
        (ev.StopRequested(reason=Reason.CANCELLED, message="x"), True),
        (ev.MessageStarted(role="assistant"), False),
        (ev.TurnStarted(), False),
        (ev.AgentSettled(), False),
        (ev.ThinkingLevelChanged(level="high"), True),
        (STARTED, True),
        (COMPLETED, True),
        (FAILED, True),
    ],
)
def test_a_surface_is_told_whether_to_paint_again(event: ev.Event, changed: bool) -> None:
    assert window_of().apply(event) is changed


@pytest.mark.parametrize("before", [RETRY, ev.Delta(kind="text", text="half")])
def test_taking_away_what_was_live_is_a_change(before: ev.Event) -> None:
    assert feed(window_of(before), ev.MessageStarted(role="assistant")) is True


def test_the_same_progress_twice_is_no_change() -> None:
    progress = ev.ToolProgress(id="1", name="x", line="y")
    assert feed(window_of(progress), progress) is False
    assert feed(window_of(RETRY), RETRY) is False


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ((CREATED,), "running"),
        ((CREATED, STARTED), "running"),
        ((CREATED, STARTED, COMPLETED), "completed"),
        ((CREATED, STARTED, FAILED), "error"),
        ((CREATED, ev.Ended(status=Status.ABORTED, reason=Reason.CANCELLED)), "error"),
    ],
)
def test_windows_know_three_states(events: tuple[ev.Event, ...], status: str) -> None:
    assert window_of(*events).status == status


def test_elapsed_time_runs_from_the_start_and_freezes_at_the_end() -> None:
    assert window_of(CREATED).elapsed_ms(now_ms=9999) == 0
    assert window_of(CREATED, STARTED).elapsed_ms(now_ms=9999) == 7999
    assert window_of(CREATED, STARTED).elapsed_ms(now_ms=1) == 0
    assert window_of(CREATED, STARTED, COMPLETED).elapsed_ms(now_ms=999_999) == 12_900


def test_details_carry_every_documented_key() -> None:
    todos = call("1", "write_todos", todos=["a", "b"])
    window = window_of(
        CREATED,
        STARTED,
        assistant("Hi", todos, model="m", provider="p", stop_reason="toolUse", usage=Usage(input=3, cost=0.5)),
        ev.Exited(exit_code=143),
        FAILED,
        max_lines=1,
    )
    window.run_dir = "/runs/1"
    details = window.to_details()
    assert json.loads(json.dumps(details)) == details
    assert details == {
        "name": "build",
        "sessionId": "a3f7b9c2d1e8f4a1",
        "status": "error",
        "lines": [{"text": "→ write_todos → 2 todos written", "kind": "tool"}],
        "allMessages": [
            {"text": "Hi", "kind": "text"},
            {"text": "→ write_todos → 2 todos written", "kind": "tool"},
        ],
        "exitCode": 143,
        "model": "m",
        "stopReason": "toolUse",
        "errorMessage": "Timed out after 7s.",
        "profileName": None,
        "provider": "p",
        "thinkingLevel": None,
        "timeout": 600,
        "todoTotal": 2,
        "todoCompleted": 0,
        "toolCount": 1,
        "fileCount": 0,
        "startedAt": 2000,
        "completedAt": 9000,
        "runId": "20260101T000000-abcd1234",
        "runDir": "/runs/1",
        "usage": {
            "input": 3,
            "output": 0,
            "cacheRead": 0,
            "cacheWrite": 0,
            "totalTokens": 0,
            "cost": 0.5,
        },
        "reason": "timeout",
    }


def test_details_cannot_hurt_the_terminal_they_are_painted_in() -> None:
    state: Any = window_of(CREATED).state
    state.name, state.error, state.model = "a\x1b[2J", "b\x1b]0;x\x07\nc", "m\x9b"
    details = Window(state).to_details()
    assert (details["name"], details["errorMessage"], details["model"]) == ("a", "b\nc", "m")


def test_memory_of_calls_is_bounded_without_showing_recent_ones_twice() -> None:
    window = window_of(*(assistant(call(str(n), "ls")) for n in range(600)))
    assert feed(window, ev.ToolStarted(id="599", name="ls")) is False
    assert feed(window, ev.ToolStarted(id="0", name="ls")) is True


def test_what_a_script_called_stands_below_it() -> None:
    nested = (ev.NestedCall("read", {"path": "/home/ann/project/a.ts"}), ev.NestedCall("bash", {"command": "ls"}))
    script = call("1", "codemode", code="// look around\nawait tools.read({path: 'a.ts'})")
    answer = ev.Message(role="toolResult", tool_call_id="1", tool_name="codemode", nested_calls=nested)
    shown = ["→ codemode → // look around await tools.read({path: 'a.ts'})", "  → read → a.ts", "  → bash → ls"]
    assert texts(window_of(CREATED, assistant(script), assistant("Then."), answer)) == [*shown, "Then."]


def test_of_a_script_with_countless_calls_the_first_are_shown() -> None:
    nested = tuple(ev.NestedCall("bash", {"command": f"echo {number}"}) for number in range(1000))
    answer = ev.Message(role="toolResult", tool_call_id="gone", tool_name="codemode", nested_calls=nested)
    window = window_of(CREATED, answer, max_lines=50)
    assert texts(window) == [f"  → bash → echo {number}" for number in range(20)]


def test_a_changed_file_stands_below_the_call_that_does_not_name_it_already() -> None:
    changed = ev.FileChanged(path="/home/ann/project/a.py", diff="-x\n+y\n+z", tool_call_id="1")
    told = [
        ev.ToolStarted(id="1", name="bash", arguments={"command": "sed -i s/x/y/ a.py"}),
        changed,
        ev.ToolStarted(id="2", name="edit", arguments={"path": "b.py"}),
        ev.FileChanged(path="b.py", tool_call_id="2"),
        ev.FileChanged(path="c.py"),
    ]
    lines = [line.text for line in window_of(CREATED, STARTED, *told).lines]
    assert lines == ["→ bash → sed -i s/x/y/ a.py", "  Changed a.py (+2 -1)", "→ edit → b.py", "Changed c.py"]


def test_a_request_is_shown_until_it_is_answered_and_the_answer_stands_below_its_call() -> None:
    call_of_it = ev.ToolStarted(id="1", name="bash", arguments={"command": "rm x"})
    window = window_of(CREATED, STARTED, call_of_it, ev.ApprovalRequested(id="a", what="rm x", tool_call_id="1"))
    assert [text for _, text in window.live_lines] == ["Asks for permission: rm x"]
    feed(window, ev.ApprovalAnswered(id="a", allowed=False))
    feed(window, ev.ApprovalRequested(id="b", what="fetch example.org"))
    feed(window, ev.ApprovalAnswered(id="b", allowed=True))
    assert window.live_lines == []
    assert [line.text for line in window.lines] == [
        "→ bash → rm x",
        "  Denied (approvals: deny)",
        "Allowed (approvals: allow): fetch example.org",
    ]


def test_a_call_of_another_agent_that_failed_says_so_and_why_once() -> None:
    by_claude = msgspec.structs.replace(CREATED, harness="claude")
    failed = result("1", "bash", "\nExit code 3\nmore", is_error=True)
    made = assistant(call("1", "bash", command="rm x"))
    assert texts(window_of(by_claude, made, failed)) == ["→ bash → rm x", "  Failed: Exit code 3"]
    silent = result("1", "bash", "", is_error=True)
    assert texts(window_of(by_claude, made, silent)) == ["→ bash → rm x", "  Failed"]
    asked = ev.ApprovalRequested(id="a", what="rm x", tool_call_id="1")
    denied = ev.ApprovalAnswered(id="a", allowed=False)
    assert texts(window_of(by_claude, made, asked, denied, failed)) == ["→ bash → rm x", "  Denied (approvals: deny)"]
    assert texts(window_of(CREATED, made, failed)) == ["→ bash → rm x"], "as the reference of the tools has it"


def test_an_answer_that_comes_before_its_call_moves_below_it() -> None:
    asked = ev.ApprovalRequested(id="a", what="rm x", tool_call_id="1")
    window = window_of(CREATED, STARTED, asked, ev.ApprovalAnswered(id="a", allowed=True))
    assert texts(window) == ["Allowed (approvals: allow): rm x"]
    feed(window, ev.ToolStarted(id="1", name="bash", arguments={"command": "rm x"}))
    assert texts(window) == ["→ bash → rm x", "  Allowed (approvals: allow)"]


def test_what_a_sub_agent_of_the_agent_was_denied_is_shown_though_its_call_never_is() -> None:
    asked = ev.ApprovalRequested(id="a", what="rm x", tool_call_id="of somebody else")
    window = window_of(
        CREATED, STARTED, asked, ev.ApprovalAnswered(id="a", allowed=False), assistant("Done."), COMPLETED
    )
    assert texts(window) == ["Denied (approvals: deny): rm x", "Done."]


@pytest.mark.parametrize(("mode", "beginning"), [("native", "resumed"), ("retell", "retold")])
def test_of_a_resumed_session_the_facts_say_what_its_agent_knew(mode: str, beginning: str) -> None:
    resumed = msgspec.structs.replace(CREATED, resume_mode=mode)
    assert window_of(resumed).to_facts()["beginning"] == beginning
    assert "beginning" not in window_of(CREATED).to_facts()


def test_only_of_another_agent_than_pi_the_facts_say_which_one_and_what_else_it_tells() -> None:
    assert "agent" not in window_of(CREATED).to_facts()
    used = ev.UsageTotal(usage=Usage(total_tokens=5), context_used=900, context_size=2000, has_cost=False)
    created = msgspec.structs.replace(CREATED, harness="codex")
    facts = window_of(created, STARTED, used, ev.FileChanged(path="a.py")).to_facts()
    assert facts["agent"] == "codex"
    assert facts["knowsCost"] is False
    assert (facts["contextUsed"], facts["contextSize"], facts["beginning"]) == (900, 2000, "fresh")
    assert facts["changedFiles"] == ["/home/ann/project/a.py"]
