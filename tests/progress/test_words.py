"""What one-line surfaces say: the agent's own words first, then what its tools do, nothing twice, nothing made up."""

from __future__ import annotations

from typing import Any

import pytest

from pi_subagents.models import Reason, Status
from pi_subagents.models import event as ev
from pi_subagents.progress import ProgressWords
from pi_subagents.text import cell_width


def said(*events: ev.Event, **options: Any) -> list[str]:
    words = ProgressWords(**options)
    return [line for event in events if (line := words.say(event)) is not None]


def started(name: str, arguments: Any = None, call_id: str = "1") -> ev.ToolStarted:
    return ev.ToolStarted(id=call_id, name=name, arguments={} if arguments is None else arguments)


def ended(name: str, failed: bool = False, call_id: str = "1") -> ev.ToolEnded:
    return ev.ToolEnded(id=call_id, name=name, is_error=failed)


def result(name: str, failed: bool = False, call_id: str | None = "1") -> ev.Message:
    return ev.Message(role="toolResult", tool_call_id=call_id, tool_name=name, is_error=failed)


def assistant(*parts: ev.Part) -> ev.Message:
    return ev.Message(role="assistant", parts=parts)


def test_what_the_agent_says_is_said_on_one_line_before_the_tool_it_calls_and_a_transcript_keeps_its_lines() -> None:
    call = ev.ToolCallPart("1", "read", {"path": "src/auth.ts"})
    message = assistant(ev.ThinkingPart("secret"), ev.TextPart("I’m\n\n  looking.\x1b]0;title\x07\n"), call)
    begun = started("read", {"path": "src/auth.ts"})
    assert said(message, begun) == ["I’m looking.", "Reading src/auth.ts"]
    assert said(message, begun, multiline=True) == ["I’m\n\n  looking.", "Reading src/auth.ts"]


@pytest.mark.parametrize("text", ["", "  \n\t ", "\x1b[0m\n"])
def test_blank_text_gives_no_line(text: str) -> None:
    blanks = (assistant(ev.TextPart(text)), ev.Output(text=text))
    assert said(*blanks) == said(*blanks, multiline=True) == said(*blanks, width=9) == []


@pytest.mark.parametrize(
    ("name", "arguments", "doing", "done", "failed"),
    [
        (
            "read",
            {"path": "src/auth.ts"},
            "Reading src/auth.ts",
            "Finished reading src/auth.ts",
            "Read failed: src/auth.ts",
        ),
        ("grep", {"pattern": "auth"}, "Searching code for auth", "Search finished", "Search failed"),
        ("find", {"pattern": "*.test.ts"}, "Scanning for *.test.ts", "Scan finished", "Scan failed"),
        ("ls", {"path": "src/"}, "Listing src/", "Finished listing src/", "Listing failed: src/"),
        (
            "edit",
            {"path": "src/tool.ts"},
            "Editing src/tool.ts",
            "Finished editing src/tool.ts",
            "Edit failed: src/tool.ts",
        ),
        (
            "write",
            {"path": "README.md"},
            "Writing README.md",
            "Finished writing README.md",
            "Write failed: README.md",
        ),
        ("powershell", {"command": "npm test"}, "npm test", "Command finished: npm test", "Command failed: npm test"),
        ("codemode", {"code": "exit()"}, "Running a script: exit()", "Script finished", "Script failed"),
        ("bash", {"command": "npm test"}, "npm test", "Command finished: npm test", "Command failed: npm test"),
        ("", {}, "Running tool", "tool finished", "tool failed"),
        ("x\x1b[2J", {}, "Running x", "x finished", "x failed"),
        ("deploy", {"to": "prod"}, "Running deploy", "deploy finished", "deploy failed"),
        ("read", {}, "Running read", "read finished", "read failed"),
        ("read", {"path": 7}, "Running read", "read finished", "read failed"),
        ("grep", {"path": "src"}, "Running grep", "grep finished", "grep failed"),
        ("ls", {"path": " "}, "Running ls", "ls finished", "ls failed"),
        ("bash", {"command": None}, "Running bash", "bash finished", "bash failed"),
        ("read", ["src"], "Running read", "read finished", "read failed"),
        ("read", {"path": "{}.ts"}, "Reading {}.ts", "Finished reading {}.ts", "Read failed: {}.ts"),
    ],
)
def test_a_tool_is_told_when_it_starts_and_when_it_ends(
    name: str, arguments: Any, doing: str, done: str, failed: str
) -> None:
    assert said(started(name, arguments), ended(name), result(name)) == [doing, done]
    assert said(started(name, arguments), ended(name, True), result(name, True)) == [doing, failed]


def test_an_end_is_told_once_by_whichever_sign_comes_first() -> None:
    begun = started("read", {"path": "a"})
    for end in (ended("read"), result("read")):
        assert said(begun, end) == ["Reading a", "Finished reading a"]
    assert said(result("read"), ended("read")) == ["read finished"]
    assert said(ended("read"), result("read")) == ["read finished"]


@pytest.mark.parametrize("call_id", ["", None])
def test_calls_without_an_id_are_told_once_each(call_id: str | None) -> None:
    call = (started("read", {"path": "a"}, ""), ended("read", call_id=""), result("read", call_id=call_id))
    assert said(*call, *call) == ["Reading a", "Finished reading a"] * 2
    assert said(result("read", call_id=call_id), result("read", call_id=call_id)) == ["read finished"] * 2
    begin, end = call[:2]
    assert len(said(begin, end, begin, result("read", call_id=call_id))) == 4


def test_what_was_called_is_known_from_the_message_alone_and_without_it_only_the_tools_name() -> None:
    assert said(result("grep", True)) == ["grep failed"]
    message = assistant(ev.ToolCallPart("1", "edit", {"path": "src/tool.ts"}))
    assert said(message, result("edit", True)) == ["Edit failed: src/tool.ts"]


def test_parallel_calls_keep_their_own_context() -> None:
    events = (
        started("read", {"path": "a"}, "1"),
        started("read", {"path": "b"}, "2"),
        ended("read", call_id="2"),
        ended("read", True, call_id="1"),
    )
    assert said(*events)[2:] == ["Finished reading b", "Read failed: a"]


def test_paths_and_commands_are_shortened() -> None:
    place = {"cwd": "/home/ann/project"}
    assert said(started("read", {"path": "/home/ann/project/a.ts"}), **place) == ["Reading a.ts"]
    assert said(started("bash", {"command": "cd ~/project && make\nmake install"}), **place) == ["make …"]
    [line] = said(started("bash", {"command": "echo " + "x" * 500}))
    assert cell_width(line) == 100


def test_lines_are_cut_at_the_width_if_there_is_one() -> None:
    assert said(assistant(ev.TextPart("你好世界")), width=6) == ["你好…"]
    assert said(assistant(ev.TextPart("first line\nsecond")), width=6, multiline=True) == ["first…\nsecond"]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            ev.RetryStarted(attempt=1, max_attempts=3, delay_ms=2000, message="overloaded\n"),
            "Model error, retrying in 2 s (1/3): overloaded",
        ),
        (ev.RetryStarted(attempt=2, delay_ms=1500), "Model error, retrying in 1.5 s (2)"),
        (ev.RetryStarted(delay_ms=120_000), "Model error, retrying in 120 s"),
        (ev.RetryStarted(what="summary"), "Summary failed, retrying"),
        (ev.RetryEnded(success=True, attempt=1), None),
        (
            ev.RetryEnded(success=False, attempt=3, message="overloaded"),
            "Model error, gave up after 3 attempts: overloaded",
        ),
        (ev.RetryEnded(success=False), "Model error, gave up"),
        (ev.RetryEnded(success=False, attempt=1, what="summary"), "Summary failed, gave up after 1 attempt"),
        (ev.CompactionStarted(reason="threshold"), "Compacting the conversation"),
        (ev.CompactionEnded(), "Compaction finished"),
        (ev.CompactionEnded(aborted=True), "Compaction aborted"),
        (ev.CompactionEnded(message="no key"), "Compaction failed: no key"),
        (ev.StopRequested(reason=Reason.TIMEOUT, message="Timed out"), "Stopping: Timed out"),
        (ev.StopRequested(reason=Reason.CANCELLED, message=""), "Stopping"),
        (ev.ExtensionFailed(path="/x.ts", message="boom"), "Extension failed: /x.ts: boom"),
        (ev.ExtensionFailed(path="/x\x1b[2J.ts\n"), "Extension failed: /x.ts"),
        (ev.ExtensionFailed(), "Extension failed"),
        (ev.Dropped(size=40_000_000, head="{"), "Left out a record of 40000000 bytes: too large to keep"),
        (ev.Output(text="npm notice"), "npm notice"),
        (ev.Ended(status=Status.COMPLETED, reason=Reason.SETTLED), "Completed"),
        (
            ev.Ended(status=Status.FAILED, reason=Reason.TIMEOUT, message="Timed out after 5s."),
            "Failed: Timed out after 5s.",
        ),
        (ev.Ended(status=Status.FAILED, reason=Reason.EXIT), "Failed (exit)"),
        (ev.Ended(status=Status.ABORTED, reason=Reason.CANCELLED, message="Cancelled"), "Aborted: Cancelled"),
        (ev.Stderr(text="warning"), None),
        (ev.Delta(kind="text", text="half"), None),
        (ev.ToolProgress(id="1", name="bash", line="10 %"), None),
        (ev.Message(role="user", parts=(ev.TextPart("the prompt"),)), None),
        (ev.Started(pid=1, containment="guard"), None),
        (ev.AgentSettled(), None),
        (assistant(ev.ToolCallPart("1", "read", {"path": "a"})), None),
    ],
)
def test_what_happens_around_the_conversation(event: ev.Event, words: str | None) -> None:
    assert ProgressWords().say(event) == words


def test_stderr_is_told_only_when_it_explains_a_failure() -> None:
    noise = (ev.Stderr(text="Error: no such model\n\n"), ev.Stderr(text=" \n"))
    failed = ev.Ended(status=Status.FAILED, reason=Reason.SPAWN, message="pi exited with code 1")
    assert said(*noise, failed) == ["Failed: pi exited with code 1 [stderr]: Error: no such model"]
    timeout = ev.Ended(status=Status.FAILED, reason=Reason.TIMEOUT, message="Timed out")
    assert said(*noise, timeout) == ["Failed: Timed out"]
    known = ev.Ended(status=Status.FAILED, reason=Reason.SPAWN, message="pi: Error: no such model")
    assert said(*noise, known) == ["Failed: pi: Error: no such model"]


def test_memory_is_bounded_when_tools_never_end() -> None:
    words = ProgressWords()
    for number in range(3000):
        words.say(started("read", {"path": "a"}, str(number)))
    assert words.say(ended("read", call_id="0")) == "read finished"
    assert words.say(ended("read", call_id="2999")) == "Finished reading a"


def test_a_changed_file_is_told_with_its_figures_as_seen_from_where_the_agent_works() -> None:
    diff = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,3 @@\n-old\n+new\n+more\n same\n"
    changed = ev.FileChanged(path="/work/src/a.py", diff=diff)
    assert said(changed, cwd="/work") == ["Changed src/a.py (+2 -1)"]
    assert said(ev.FileChanged(path="b.bin"), ev.FileChanged(path=" \x1b")) == ["Changed b.bin"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ev.ApprovalAnswered(id="7", allowed=True), "Allowed (approvals: allow): rm -rf build"),
        (ev.ApprovalAnswered(id="7", allowed=False, by="anna"), "Denied by anna: rm -rf build"),
        (ev.ApprovalAnswered(id="8", allowed=False), "Denied (approvals: deny)"),
    ],
)
def test_what_an_agent_asks_for_is_told_and_so_is_the_answer(answer: ev.ApprovalAnswered, words: str) -> None:
    asked = ev.ApprovalRequested(id="7", what="rm -rf build", tool_name="bash")
    assert said(asked, answer) == ["Asks for permission: rm -rf build", words]


def test_a_request_without_words_names_its_tool() -> None:
    assert said(ev.ApprovalRequested(id="7", tool_name="bash")) == ["Asks for permission: bash"]
