"""What real `claude` processes printed, decoded: every stream as it came, and cut wherever it could be.

Then records of our own, for what they seldom do, and whole runs of the real program.
"""

from __future__ import annotations

import copy
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pi_subagents.conformance import TESTED
from pi_subagents.conformance.agents import KEY
from pi_subagents.conformance.sink import Sink
from pi_subagents.conformance.stage import Stage
from pi_subagents.fold import RunState, fold
from pi_subagents.harness.claude.dialogue import ClaudeDialogue
from pi_subagents.jsonl import Framer
from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.offline import Call, Hang, Say, Script, Turn
from pi_subagents.offline.script import Step
from scripts.bootstrap import AGENTS

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


def test_what_is_wrong_with_a_call_is_told_without_the_tags_for_the_model() -> None:
    _, events = of_stream("unknown")

    [result] = [event for event in those(events, ev.Message) if event.role == "toolResult"]
    assert result.text == "Error: No such tool available: no_such_tool"


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


def test_a_call_that_is_allowed_is_made_as_the_model_made_it() -> None:
    dialogue = ClaudeDialogue()
    data = next(path for path in STREAMS if path.stem == "permission-allow").read_bytes()
    events = [event for frame in Framer().feed(data) for event in dialogue.decode(frame, AT)]

    [request] = those(events, ev.ApprovalRequested)
    assert request.tool_name == "edit"
    verdict = json.loads(dialogue.answer(request.id, allowed=True))["response"]["response"]
    assert (verdict["behavior"], verdict["updatedInput"]["old_string"]) == ("allow", "oak")
    denial = dialogue.answer(request.id, allowed=False)
    assert b'"behavior":"deny"' in denial
    assert b"Go on without it" in denial


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else []


@pytest.mark.parametrize("wanted", ["echo [redacted]", "echo \N{REPLACEMENT CHARACTER}", nested(200)])
def test_a_call_that_we_know_only_in_part_is_left_to_claude_to_make(wanted: Any) -> None:
    dialogue = ClaudeDialogue()
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": wanted}}
    told({"type": "control_request", "request_id": "r", "request": request}, dialogue=dialogue)

    verdict = json.loads(dialogue.answer("r", allowed=True))["response"]["response"]
    assert verdict == {"behavior": "allow"}


def test_a_wrong_key_is_given_up_after_two_refusals() -> None:
    dialogue = ClaudeDialogue()
    data = next(path for path in STREAMS if path.stem == "401").read_bytes()
    replies = []
    for frame in Framer().feed(data):
        dialogue.decode(frame, AT)
        replies.append(dialogue.take_replies())

    assert [b"interrupt" in reply for reply in replies if reply] == [True]


# --- messages that break off, retries and verdicts ------------------------------------------------------------


def told(*records: dict[str, Any], dialogue: ClaudeDialogue | None = None) -> list[ev.AnyEvent]:
    """The events for records of our own."""
    dialogue = dialogue or ClaudeDialogue()
    return [event for record in records for event in dialogue.decode(json.dumps(record).encode(), AT)]


def stream(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": {"type": kind, **more}}


def begun(name: str = "m") -> dict[str, Any]:
    return stream("message_start", message={"id": name, "model": "opus", "usage": {"input_tokens": 9}})


def piece(text: str, kind: str = "text") -> dict[str, Any]:
    return stream("content_block_delta", delta={"type": f"{kind}_delta", kind: text})


def ended(stop_reason: str = "end_turn") -> tuple[dict[str, Any], dict[str, Any]]:
    return stream("message_delta", delta={"stop_reason": stop_reason}, usage={"output_tokens": 2}), stream(
        "message_stop"
    )


def block(name: str = "m", /, **content: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": name, "content": [content]}}


def answer(text: str, name: str = "m") -> tuple[dict[str, Any], ...]:
    return begun(name), piece(text), block(name, type="text", text=text), *ended()


def result_of(call: str) -> dict[str, Any]:
    content = [{"type": "tool_result", "tool_use_id": call, "content": "one"}]
    return {"type": "user", "message": {"role": "user", "content": content}}


CALL: dict[str, Any] = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "echo one"}}
REFUSED = {"type": "system", "subtype": "api_retry", "error": "authentication_failed", "error_status": 401}
SUCCESS = {"type": "result", "subtype": "success", "is_error": False}


def test_of_a_message_that_breaks_off_with_the_process_everything_is_kept() -> None:
    dialogue = ClaudeDialogue()
    thought = block(type="thinking", thinking="Which well?")
    events = told(begun(), piece("Which", "thinking"), thought, piece("Under "), piece("the"), dialogue=dialogue)
    events += dialogue.ended(-9, AT)

    state = fold(RunState(), events)
    assert (state.text, state.stop_reason) == ("Under the", "aborted")
    assert those(events, ev.Message)[-1].parts == (ev.ThinkingPart("Which well?"), ev.TextPart("Under the"))


def test_a_message_that_broke_off_and_came_again_counts_once() -> None:
    again = answer("The whole.", "n")
    cut = (begun(), piece("The wh"), stream("content_block_stop"), stream("message_stop"))

    for retry in ((), (dict(REFUSED, error="overloaded"),)):
        assert [message.text for message in those(told(*cut, *retry, *again), ev.Message)] == ["The whole."]


def test_the_result_of_a_tool_is_told_when_it_comes_even_before_the_end_of_the_message() -> None:
    events = told(begun(), block(**CALL), result_of("c"))

    kinds = [type(event) for event in events]
    assert kinds == [ev.MessageStarted, ev.Message, ev.ToolStarted, ev.ToolEnded, ev.Message]
    events = told(begun(), block(**CALL), result_of("c"), *ended("tool_use"), *answer("Done.", "n"))
    state = fold(RunState(), events)
    assert (state.tool_count, state.usage.output, state.text) == (1, 4, "Done.")


def test_a_tool_that_was_started_before_its_message_broke_off_is_told() -> None:
    dialogue = ClaudeDialogue()
    events = [*told(begun(), block(**CALL), piece("And"), dialogue=dialogue), *dialogue.ended(-9, AT)]

    assert [event.id for event in those(events, ev.ToolStarted)] == ["c"]
    assert fold(RunState(), events).text == "And"


def test_an_error_counts_only_until_claude_answers() -> None:
    failed = {**block("e", type="text", text="API Error: on fire"), "is_api_error_message": True}

    state = fold(RunState(), told(failed, *answer("All is well."), SUCCESS))
    assert (state.text, state.stop_reason, state.error_message) == ("All is well.", "stop", None)
    assert fold(RunState(), told(failed, SUCCESS)).error_message == "API Error: on fire"


def test_refusals_of_a_login_count_only_if_nothing_worked_between_them() -> None:
    dialogue = ClaudeDialogue()
    told(REFUSED, *answer("I look."), REFUSED, dialogue=dialogue)
    assert not dialogue.take_replies()

    told(REFUSED, dialogue=dialogue)
    assert b"interrupt" in dialogue.take_replies()


def test_the_cost_is_unknown_where_claude_does_not_say_what_a_turn_used() -> None:
    state = fold(RunState(harness="claude"), told(*answer("Done."), {**SUCCESS, "total_cost_usd": 0.5}))

    assert not state.knows_cost
    assert (state.usage.input, state.usage.output) == (9, 2)


@pytest.mark.parametrize("delta", [{"type": "citations_delta", "": "x"}, {"": "x"}, {"type": "text_delta"}, None])
def test_a_piece_of_an_unknown_kind_is_no_text(delta: Any) -> None:
    assert not those(told(begun(), stream("content_block_delta", delta=delta)), ev.Delta)


# --- the real program -----------------------------------------------------------------------------------------

PROGRAM = next(agent.program for agent in AGENTS if agent.name == "claude")
real = pytest.mark.skipif(PROGRAM is None, reason="claude could not be installed from npm")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A project in which claude works for a test, with a scripted model."""
    environ = {"PATH": os.environ["PATH"], "PI_SUBAGENTS_CLAUDE": str(PROGRAM)}
    with Sink() as sink:
        yield Stage(tmp_path, TESTED["claude"], environ, sink)


@real
async def test_what_is_allowed_is_done_to_the_letter_even_if_it_holds_a_secret(stage: Stage) -> None:
    stage.environ["DEPLOY_TOKEN"] = "staging-server"
    written, run = stage.project / "hosts", stage.project / "made"
    tools = stage.agent.tools
    calls = (tools.write(written, "HOST=staging-server\n"), tools.bash(f"echo ssh staging-server > {run}"))

    outcome = await stage.run("Go.", *calls, Say("Done."), approvals="allow")
    assert len(outcome.of(ev.ApprovalAnswered)) == 2
    assert (written.read_text(), run.read_text()) == ("HOST=staging-server\n", "ssh staging-server\n")


@real
async def test_what_was_said_before_the_process_was_killed_is_kept(stage: Stage) -> None:
    async with stage.start(["Go."], Hang("The answer is forty")) as running:
        await running.until("the text came", lambda: running.saw(ev.Delta))
        stage.kill()
        outcome = await running.outcome()

    assert outcome.failed(Reason.EXIT).text == "The answer is forty"


@real
async def test_a_key_of_the_profile_goes_before_a_token_of_the_user(stage: Stage) -> None:
    token = {"ANTHROPIC_AUTH_TOKEN": "sk-of-the-user"}
    stage.agent = replace(stage.agent, variables=lambda model: {"ANTHROPIC_BASE_URL": model.url, **token})

    outcome = await stage.run("Go.", Say("Done."), apiKey="sk-of-the-profile")
    assert outcome.completed("Done.").request.authorization.endswith("sk-of-the-profile")


def trust(stage: Stage) -> None:
    stage.write(stage.agent_dir / "trust.json", json.dumps({str(stage.root.resolve()): True}))


SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    info = {"name": "db", "version": "1"}
    about = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    tools = {"tools": [{"name": "wipe", "description": "", "inputSchema": {"type": "object", "properties": {}}}]}
    result = {"initialize": about, "tools/list": tools}.get(asked.get("method"), {})
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@real
@pytest.mark.parametrize(
    ("limits", "are_there"), [({}, True), ({"noTools": True}, False), ({"tools": ["read"]}, False)]
)
async def test_a_list_of_tools_leaves_out_those_of_the_users_servers(
    limits: dict[str, Any], are_there: bool, stage: Stage
) -> None:
    trust(stage)
    server = {"command": sys.executable, "args": [str(stage.write(stage.root / "server.py", SERVER))]}
    stage.write(stage.home / ".claude.json", json.dumps({"mcpServers": {"db": server}}))
    outcome = await stage.run("Go.", Call("mcp__db__wipe"), Say("Done."), inherit=True, **limits)
    (wiped,) = outcome.completed("Done.").results
    assert ("No such tool" not in wiped.text) is are_there


@real
async def test_a_list_of_tools_cannot_name_one_of_a_server(stage: Stage) -> None:
    refused = await stage.refusal(inherit=True, tools=["read", "mcp__db__wipe"])
    assert 'names "mcp__db__wipe" in "tools", which claude does not have.' in refused


@real
async def test_the_key_of_a_profile_does_not_stay_in_the_users_home(stage: Stage) -> None:
    trust(stage)
    shown = await stage.run("Go.", stage.agent.tools.bash("env"), Say("Done."), inherit=True, apiKey=KEY)
    assert KEY in shown.completed("Done.").asked[0].authorization
    assert stage.files_with(KEY) == []


@real
async def test_a_conversation_goes_on_with_the_users_own_settings_too(stage: Stage) -> None:
    steps = Say("I keep 4711."), Say("It was 4711.")
    first = await stage.run("Remember 4711.", *steps, resumeMode="native")
    options: dict[str, Any] = {"resumeMode": "native", "inherit": True, "resume": first.run.session_id}
    second = (await stage.run("What was it?", *steps, **options)).completed("It was 4711.")
    assert second.state.beginning == "resumed"


@real
async def test_the_files_that_its_own_sub_agent_writes_are_known_unless_writing_failed(stage: Stage) -> None:
    tools, written = stage.agent.tools, stage.project / "below.txt"
    assert tools.delegate is not None
    steps: list[Step] = [tools.write(written, "x\n"), tools.edit(written, "nowhere", "y"), Say("Written.")]
    script = Script().when("Write it", steps).otherwise([*tools.delegate("Write it."), Say("Done.")])
    outcome = (await stage.run("Go.", script=script, approvals="allow")).completed("Done.")
    assert [change.path for change in outcome.of(ev.FileChanged)] == [str(written)]


@real
async def test_a_request_for_permission_comes_after_the_call_that_it_is_about(stage: Stage) -> None:
    turn = Turn("I look around.", (stage.agent.tools.bash("touch here"),), thinking="Hm.")
    outcome = await stage.run("Go.", turn, Say("Done."))
    kinds = (ev.ToolStarted, ev.ApprovalRequested, ev.ApprovalAnswered, ev.ToolEnded)
    assert [type(event) for event in outcome.events if isinstance(event, kinds)] == list(kinds)
    said = [event.text for event in outcome.of(ev.Message) if event.role == "assistant" and event.text]
    assert said == ["I look around.", "Done."]


@real
async def test_whoever_has_neither_a_login_nor_a_key_is_told_how_to_log_in(stage: Stage) -> None:
    stage.agent = replace(stage.agent, variables=lambda model: {"ANTHROPIC_BASE_URL": model.url})

    outcome = await stage.run("Go.", Say("Never."))
    assert "type `/login`, or set ANTHROPIC_API_KEY)" in str(outcome.failed(Reason.AGENT_ERROR).state.error)
