"""What real `codex app-server` processes printed, decoded; then whole delegations to the real program."""

from __future__ import annotations

import copy
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.diagnosis.diagnose import diagnose
from pi_subagents.fold import RunState, fold
from pi_subagents.harness import AGENT_HOME, Launch, Program, harness_named
from pi_subagents.harness.codex.dialogue import CodexDialogue
from pi_subagents.jsonl import Framer
from pi_subagents.models import Profile, Reason, Status, Task
from pi_subagents.models import event as ev
from pi_subagents.models.run import Usage as Tokens
from pi_subagents.offline import Attempts, Call, CutStream, Fail, Hang, OfflineModel, Request, Say, Script, Turn, Usage
from pi_subagents.place import Place
from pi_subagents.profiles import invalidate_profiles_cache
from pi_subagents.redaction import MARK
from pi_subagents.runs.run import RunResult
from pi_subagents.store import JOURNAL_FILE, load_run, read_journal
from pi_subagents.supervisor.limits import LoopDetector
from pi_subagents.text.streamed import MAX_STREAMED_CHARACTERS
from scripts.bootstrap import AGENTS
from tests.kit.processes import pids_with
from tests.kit.waiting import until, until_async
from tests.kit.workplace import MARK_VARIABLE

AT = 1_700_000_000_000
STREAMS = sorted((Path(__file__).parents[1] / "data" / "workers" / "codex-app-server").glob("*.jsonl"))
E = TypeVar("E", bound=ev.Event)

each_stream = pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.stem)

# --- records of real programs --------------------------------------------------------------------------------


def records_of(stream: Path) -> list[bytes]:
    """The records of a stream, its answers under the names that our requests have."""
    names = iter(["initialize", "thread", "turn"])
    records = [json.loads(line) for line in stream.read_bytes().splitlines()]
    for record in records:
        if "method" not in record:
            record["id"] = next(names, "steer")
    return [json.dumps(record).encode() + b"\n" for record in records]


def begun() -> CodexDialogue:
    return CodexDialogue({"thread": {"cwd": "/", "config": {}}, "turn": {"input": []}})


def decode(dialogue: CodexDialogue, data: bytes) -> list[ev.AnyEvent]:
    framer = Framer()
    return [event for frame in [*framer.feed(data), *framer.finish()] for event in dialogue.decode(frame, AT)]


def of_stream(name: str) -> tuple[RunState, list[ev.AnyEvent]]:
    stream = next(path for path in STREAMS if path.stem == name)
    events = decode(begun(), b"".join(records_of(stream)))
    return fold(RunState(), events), events


def those(events: Iterator[ev.AnyEvent] | list[ev.AnyEvent], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


@each_stream
def test_a_real_stream_is_decoded_to_its_end_with_nothing_unknown(stream: Path) -> None:
    state, events = of_stream(stream.stem)
    assert not those(events, ev.Unknown)
    assert state.settled
    started, ended = those(events, ev.ToolStarted), those(events, ev.ToolEnded)
    assert sorted(event.id for event in started) == sorted(event.id for event in ended)


@each_stream
def test_a_stream_may_break_off_at_every_byte_of_its_last_records(stream: Path) -> None:
    *before, last_but_one, last = records_of(stream)
    dialogue = begun()
    whole = decode(dialogue, b"".join(before))
    tail = last_but_one + last
    for end in range(len(tail)):
        events = decode(copy.deepcopy(dialogue), tail[:end])
        fold(fold(RunState(), whole), events)


JUNK: tuple[Any, ...] = (None, 7, -0.5, "x", [], [None], {"type": []})


def _broken(value: Any) -> Iterator[Any]:
    """The value with each of its parts replaced by something else."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: junk} for junk in JUNK)
            yield from ({**value, key: other} for other in _broken(inner))
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in _broken(inner))


@pytest.mark.parametrize("name", ["approve", "sub", "429", "overflow"])
def test_decoding_never_raises_whatever_is_in_the_place_of_a_value(name: str) -> None:
    stream = next(path for path in STREAMS if path.stem == name)
    dialogue = begun()
    for record in records_of(stream):
        for broken in _broken(json.loads(record)):
            fold(RunState(), decode(copy.deepcopy(dialogue), json.dumps(broken).encode()))
        decode(dialogue, record)


def test_what_codex_says_of_others_than_our_thread_is_not_our_answer() -> None:
    state, events = of_stream("sub")
    assert state.text == "Delegation done."
    assert "Sub says oak." not in str(events)
    assert [event.name for event in those(events, ev.ToolStarted)] == ["spawnAgent"]


def test_the_usage_of_a_resumed_thread_begins_with_this_run() -> None:
    state, _ = of_stream("resume")
    assert (state.usage.input, state.usage.output, state.usage.total_tokens) == (9574, 19, 9593)
    assert (state.context_used, state.context_size, state.has_cost) == (9593, 258_400, False)


def test_a_thread_that_is_not_found_is_a_refused_prompt() -> None:
    state, _ = of_stream("moved2")
    assert state.error_message == "no rollout found for thread id 01a1e21d-3501-7202-b36d-c0261c1c7a11"


def test_what_was_streamed_before_an_interrupt_is_kept() -> None:
    state, events = of_stream("interrupt-hang")
    assert (state.text, state.aborted) == ("I begin to say", True)
    assert those(events, ev.Message)[-1].stop_reason == "aborted"


def test_a_server_that_wants_what_we_have_not_is_told_so_and_a_question_is_answered_with_nothing() -> None:
    dialogue = begun()
    (event,) = decode(dialogue, b'{"id": 7, "method": "item/tool/call", "params": {}}\n')
    assert isinstance(event, ev.Unknown)
    assert json.loads(dialogue.take_replies())["error"]["code"] == -32601
    ask = {"id": 8, "method": "item/tool/requestUserInput", "params": {"questions": [{"question": "Which?"}]}}
    assert decode(dialogue, json.dumps(ask).encode()) == [
        ev.DialogDismissed(at=AT, method="item/tool/requestUserInput", title="Which?")
    ]
    assert json.loads(dialogue.take_replies()) == {"id": 8, "result": {"answers": {}}}


def test_a_server_may_ask_about_a_tool_of_somebody_else_and_for_more_rights() -> None:
    dialogue = begun()
    form = {"message": "Run it?", "requestedSchema": {"type": "object", "properties": {}}}
    (asked,) = decode(
        dialogue, json.dumps({"id": "e", "method": "mcpServer/elicitation/request", "params": form}).encode()
    )
    assert isinstance(asked, ev.ApprovalRequested)
    assert asked.what == "Run it?"
    assert json.loads(dialogue.answer("e", allowed=False))["result"] == {"action": "decline", "content": None}
    wish = {"permissions": {"network": {"enabled": True}}}
    decode(dialogue, json.dumps({"id": 3, "method": "item/permissions/requestApproval", "params": wish}).encode())
    assert json.loads(dialogue.answer("3", allowed=True)) == {"id": 3, "result": wish}
    assert dialogue.answer("3", allowed=True) == b""


def test_waiting_for_something_that_goes_on_is_no_call_so_that_it_is_taken_for_no_loop() -> None:
    dialogue = begun()
    call = {"type": "function_call", "name": "write_stdin", "call_id": "c", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "Process running"}
    wait = {"type": "collabAgentToolCall", "tool": "wait", "id": "w", "status": "completed"}
    for method, item in (("rawResponseItem", call), ("rawResponseItem", output), ("item", wait)):
        assert not decode(dialogue, json.dumps({"method": f"{method}/completed", "params": {"item": item}}).encode())


def record_of(method: str, **params: Any) -> bytes:
    return json.dumps({"method": method, "params": params}).encode() + b"\n"


def test_closing_one_sub_agent_after_the_other_is_no_loop() -> None:
    detector, dialogue = LoopDetector(3), begun()
    for number in range(5):
        close = {"type": "collabAgentToolCall", "tool": "closeAgent", "id": f"c{number}", "prompt": None}
        item = {**close, "receiverThreadIds": [f"t{number}"]}
        events = decode(dialogue, record_of("item/started", item=item))
        calls = [call for message in those(events, ev.Message) for call in message.tool_calls]
        assert [detector.tool_called(call) for call in calls] == [False]


def test_a_search_is_told_when_codex_knows_for_what() -> None:
    dialogue = begun()
    search = {"type": "webSearch", "id": "s", "query": ""}
    assert not those(decode(dialogue, record_of("item/started", item=search)), ev.ToolStarted)
    events = decode(dialogue, record_of("item/completed", item={**search, "query": "wells"}))
    assert [event.arguments for event in those(events, ev.ToolStarted)] == [{"query": "wells"}]
    assert len(those(events, ev.ToolEnded)) == 1


def test_a_retry_may_be_counted_in_any_number() -> None:
    said = f"Reconnecting 1/{'9' * 5000}"
    (retry,) = decode(begun(), record_of("error", willRetry=True, error={"message": said}))
    assert isinstance(retry, ev.RetryStarted)


def test_usage_is_added_up_in_the_same_time_however_many_threads_there_are() -> None:
    """Summed anew each time, these would take a minute."""
    dialogue, threads = begun(), 5000
    since = time.process_time()
    for number in range(threads):
        used = {"total": {"inputTokens": 3, "totalTokens": 3}}
        decode(dialogue, record_of("turn/started", threadId=str(number)))
        events = decode(dialogue, record_of("thread/tokenUsage/updated", threadId=str(number), tokenUsage=used))
        assert [event.usage.total_tokens for event in those(events, ev.UsageTotal)] == [3 * (number + 1)]
    assert time.process_time() - since < 10


def test_of_an_answer_without_end_the_beginning_and_the_end_are_kept() -> None:
    dialogue, piece = begun(), "x" * 100_000
    for text in ("First.", *(piece for _ in range(100)), "Last."):
        decode(dialogue, record_of("item/agentMessage/delta", delta=text))
    message = those(decode(dialogue, record_of("turn/completed", turn={"status": "interrupted"})), ev.Message)[-1]
    assert message.text.startswith("First.")
    assert message.text.endswith("Last.")
    assert len(message.text) < MAX_STREAMED_CHARACTERS + len(piece) + 1000


# --- the real program ----------------------------------------------------------------------------------------

PROGRAM = next(agent.program for agent in AGENTS if agent.name == "codex")
MODEL = "gpt-5.5"
real = pytest.mark.skipif(PROGRAM is None, reason="codex could not be installed from npm")
ADD = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n"
EDIT = "*** Begin Patch\n*** Update File: well.txt\n@@\n-the oak\n+the elm\n*** End Patch\n"


@dataclass
class Bench:
    """A project in which codex works for a test, with a scripted model."""

    root: Path
    model: OfflineModel
    place: Place

    @property
    def project(self) -> Path:
        return self.place.cwd

    @property
    def home(self) -> Path:
        return self.root / "home"

    def profile(self, fields: str, body: str = "") -> None:
        path = self.place.agent_dir / "agent-profiles" / "p.md"
        path.write_text(f"---\nname: p\nagent: codex\n{fields}\n---\n{body}", encoding="utf-8")
        invalidate_profiles_cache()

    def with_variables(self, **variables: str) -> None:
        self.place = Place(self.place.cwd, self.place.agent_dir, {**self.place.environ, **variables})

    def delegation(self, prompt: str = "Go.", **task: Any) -> Delegation:
        chosen: Mapping[str, Any] = {"model": MODEL, **({} if "profile" in task else {"agent": "codex"})}
        task = {**chosen, **task}
        # Where a profile is refused, no other agent is looked for.
        return Delegation([Task("t", prompt, **task)], place=self.place, harness=harness_named("codex"))

    async def run(self, prompt: str = "Go.", **task: Any) -> RunResult:
        (result,) = await self.delegation(prompt, **task)
        return result


Play = Callable[..., Bench]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """A function that starts a model with the steps of every conversation, and makes the bench around it."""
    invalidate_profiles_cache()
    for name in ("project/.pi", "agent/agent-profiles", "agent/subagents", "home"):
        (tmp_path / name).mkdir(parents=True)
    mark = str(tmp_path)
    with ExitStack() as models:

        def begin(*steps: Any, script: Script | None = None) -> Bench:
            model = models.enter_context(OfflineModel(script or Script().otherwise(steps)))
            environ = {
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path / "home"),
                "PI_SUBAGENTS_DATA_DIR": str(tmp_path / "data"),
                "PI_SUBAGENTS_CODEX": str(PROGRAM),
                "OPENAI_BASE_URL": f"{model.url}/v1",
                "OPENAI_API_KEY": "sk-of-the-environment",
                MARK_VARIABLE: mark,
            }
            return Bench(tmp_path, model, Place(tmp_path / "project", tmp_path / "agent", environ))

        yield begin
    until(lambda: not pids_with(mark), "nothing of it is left")


def journal(result: RunResult) -> list[ev.AnyEvent]:
    return list(read_journal(result.run_dir / JOURNAL_FILE))


def files_with(folder: Path, text: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@real
async def test_an_answer_arrives_in_pieces_with_its_thoughts_and_figures(play: Play) -> None:
    turn = Turn(text="Under the oak.", thinking="I think.", chunks=3, chunk_delay_s=0.2, usage=Usage(100, 7, 40))
    result = await play(turn).run("Where is the well?")
    assert (result.status, result.reason, result.output) == (Status.COMPLETED, Reason.SETTLED, "Under the oak.")
    deltas = [event.text for event in those(journal(result), ev.Delta) if event.kind == "text"]
    assert len(deltas) > 1
    assert "".join(deltas) == "Under the oak."
    messages = those(journal(result), ev.Message)
    assert [message.role for message in messages] == ["user", "assistant"]
    assert messages[-1].parts == (ev.ThinkingPart("I think."), ev.TextPart("Under the oak."))
    state = load_run(result.run_dir)
    assert (state.model, state.has_cost, state.context_used) == (MODEL, False, 107)
    assert result.usage == Tokens(input=60, output=7, cache_read=40, total_tokens=107)


@real
async def test_tools_have_their_output_and_a_failing_command_is_an_error(play: Play) -> None:
    calls = (Call("exec_command", {"cmd": "echo one"}), Call("exec_command", {"cmd": "echo two; exit 3"}))
    bench = play(Turn(text="I look.", calls=calls), Say("Done."))
    events = journal(await bench.run())
    started = {event.arguments["command"]: event for event in those(events, ev.ToolStarted)}
    assert {event.name for event in started.values()} == {"bash"}
    ended = {event.id: event.is_error for event in those(events, ev.ToolEnded)}
    assert ended == {started["echo one"].id: False, started["echo two; exit 3"].id: True}
    told = {event.tool_call_id: event.text for event in those(events, ev.Message) if event.role == "toolResult"}
    assert told[started["echo one"].id] == "one\n"
    assert told[started["echo two; exit 3"].id] == "two\n\n\nCommand exited with code 3"


@real
async def test_a_slow_command_shows_signs_of_life(play: Play) -> None:
    script = "for word in one two three; do echo $word; sleep 0.4; done"
    events = journal(await play(Call("exec_command", {"cmd": script, "yield_time_ms": 30_000}), Say("Done.")).run())
    assert those(events, ev.ToolProgress)


@real
@pytest.mark.parametrize(
    ("call", "name"), [(Call("nonsense", {"a": 1}), "nonsense"), (Call("apply_patch", {"input": EDIT}), "edit")]
)
async def test_a_call_that_codex_itself_says_nothing_of_is_seen_to_fail(play: Play, call: Call, name: str) -> None:
    events = journal(await play(call, Say("Done.")).run())
    assert [event.name for event in those(events, ev.ToolStarted)] == [name]
    assert [event.is_error for event in those(events, ev.ToolEnded)] == [True]


# --- what it may do ------------------------------------------------------------------------------------------


@real
async def test_who_is_allowed_changes_files_which_is_told_with_a_diff(play: Play) -> None:
    bench = play(Call("apply_patch", {"input": EDIT}), Call("apply_patch", {"input": ADD}), Say("Done."))
    (bench.project / "well.txt").write_text("the oak\nsecond\n")
    bench.profile("approvals: allow")
    events = journal(await bench.run(profile="p"))
    assert (bench.project / "well.txt").read_text() == "the elm\nsecond\n"
    edit, add = those(events, ev.FileChanged)
    assert (edit.path, add.path) == (str(bench.project / "well.txt"), str(bench.project / "new.txt"))
    assert "-the oak\n+the elm\n" in edit.diff
    assert add.diff == "+hello\n"
    started = those(events, ev.ToolStarted)
    assert [event.name for event in started] == ["edit", "write"]
    assert [edit.tool_call_id, add.tool_call_id] == [event.id for event in started]
    assert not those(events, ev.ApprovalRequested), "in the directory of the task it need not ask"


@real
@pytest.mark.parametrize("approvals", ["allow", "deny"])
async def test_whoever_must_ask_is_answered_by_the_profile(play: Play, approvals: str) -> None:
    far = {"cmd": "touch ../far", "sandbox_permissions": "require_escalated", "justification": "I must."}
    bench = play(Call("exec_command", far), Say("Done."))
    bench.profile(f"approvals: {approvals}")
    result = await bench.run(profile="p")
    (asked,) = those(journal(result), ev.ApprovalRequested)
    (answered,) = those(journal(result), ev.ApprovalAnswered)
    assert (asked.what, asked.tool_name, asked.id) == ("touch ../far", "bash", answered.id)
    assert (bench.root / "far").exists() == answered.allowed == (approvals == "allow")
    assert [event.is_error for event in those(journal(result), ev.ToolEnded)] == [approvals == "deny"]
    assert result.output == "Done."


@real
async def test_unless_a_profile_says_otherwise_nothing_is_written_and_nobody_asked(play: Play) -> None:
    bench = play(Call("apply_patch", {"input": ADD}), Call("exec_command", {"cmd": "touch new.txt"}), Say("Done."))
    events = journal(await bench.run())
    assert not (bench.project / "new.txt").exists()
    assert not those(events, ev.ApprovalRequested)
    assert [event.is_error for event in those(events, ev.ToolEnded)] == [True, True]


@real
async def test_a_mode_is_a_sandbox(play: Play) -> None:
    bench = play(Call("exec_command", {"cmd": "touch ../far"}), Say("Done."))
    bench.profile("mode: danger-full-access")
    await bench.run(profile="p")
    assert (bench.root / "far").exists()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ("mode: yolo", 'sets the mode "yolo"; codex has read-only, workspace-write, danger'),
        ("inherit: true\nnoExtensions: true", "but also forbids them"),
        ("tools: [read]", 'sets "tools", which the agent "codex" does not support'),
        ("noTools: true\nexcludeTools: [bash]", 'sets "noTools", "excludeTools", which'),
        ("maxTurns: 3", 'sets "maxTurns", which'),
    ],
)
async def test_what_codex_cannot_honour_is_refused_before_the_start(play: Play, fields: str, why: str) -> None:
    bench = play(Say("Never."))
    bench.profile(fields)
    result = await bench.run(profile="p", model=None)
    assert (result.status, result.reason) == (Status.FAILED, Reason.INVALID)
    assert result.error is not None
    assert why in result.error
    assert not bench.model.requests


# --- failures ------------------------------------------------------------------------------------------------


@real
@pytest.mark.parametrize(
    ("fail", "sentence"),
    [
        (Fail(401, "invalid x-api-key"), "invalid x-api-key"),
        (Fail(400, "Your input exceeds the context window of this model."), "Your input exceeds the context window"),
    ],
)
async def test_a_failing_model_fails_the_run_with_its_own_sentence(play: Play, fail: Fail, sentence: str) -> None:
    result = await play(fail).run()
    assert (result.status, result.reason) == (Status.FAILED, Reason.AGENT_ERROR)
    assert result.error is not None
    assert sentence in result.error


@real
async def test_whoever_has_neither_a_login_nor_a_key_is_told_how_to_log_in(play: Play) -> None:
    bench = play(Fail(401, "who are you?"))
    bench.with_variables(OPENAI_API_KEY="")
    result = await bench.run()
    assert result.error is not None
    assert "who are you?" in result.error
    assert result.error.endswith(" login`, or set OPENAI_API_KEY)")


@real
async def test_of_a_broken_server_every_new_attempt_is_seen(play: Play) -> None:
    bench = play(Fail(500, "on fire"))
    result = await bench.run()
    retries = those(journal(result), ev.RetryStarted)
    assert [(event.attempt, event.max_attempts) for event in retries] == [(n, 5) for n in range(1, 6)]
    assert len(bench.model.requests) == 6
    assert result.reason is Reason.AGENT_ERROR
    assert result.error, "codex has its own sentence for this one"


@real
async def test_a_busy_provider_is_waited_for_and_that_is_visible(play: Play) -> None:
    result = await play(Attempts(Fail(429, "slow down", retry_after_s=1), Say("Done."))).run()
    (retry,) = those(journal(result), ev.RetryStarted)
    assert "429" in retry.message
    assert result.output == "Done."


@real
async def test_of_an_answer_that_broke_off_and_came_again_only_the_whole_one_counts(play: Play) -> None:
    result = await play(Attempts(CutStream("Half an"), Say("The whole answer."))).run()
    assert result.output == "The whole answer."
    assert [message.text for message in those(journal(result), ev.Message)] == ["Go.", "The whole answer."]
    assert len(those(journal(result), ev.MessageStarted)) == 2, "nobody sees both as one while they are written"


@real
async def test_an_empty_answer_is_no_success(play: Play) -> None:
    result = await play(Say("")).run()
    assert (result.status, result.reason) == (Status.FAILED, Reason.AGENT_ERROR)


@real
async def test_nobody_waits_for_a_provider_that_is_not_there(play: Play) -> None:
    bench = play(Say("Never."))
    bench.model.close()
    result = await bench.run(timeout=60)
    assert result.reason is Reason.AGENT_ERROR


# --- prompts and instructions --------------------------------------------------------------------------------


@real
@pytest.mark.parametrize("prompt", ["/help me", "-c model=x", "@well.txt", "$ps what", "\ud800 half"])
async def test_a_prompt_reaches_the_model_as_it_is(play: Play, prompt: str) -> None:
    bench = play(Say("Done."))
    assert (await bench.run(prompt)).ok
    (request,) = bench.model.requests
    assert request.last_user_text.endswith(prompt.encode("utf-8", "replace").decode())


@real
async def test_a_long_prompt_arrives_and_one_that_is_too_long_is_an_error(play: Play) -> None:
    bench = play(Say("Done."))
    prompt = "word " * 180_000
    assert (await bench.run(prompt)).ok
    assert bench.model.requests[0].last_user_text.endswith(prompt)
    result = await bench.run("x" * 1_048_577)
    assert result.error == "Input exceeds the maximum length of 1048576 characters."


@real
async def test_a_profile_sets_model_thinking_instructions_and_key(play: Play) -> None:
    bench = play(Say("Done."))
    bench.profile(
        "model: gpt-5.5\nthinkingLevel: minimal\nappendSystemPrompt: APPENDED\napiKey: sk-of-the-profile", "REPLACED"
    )
    result = await bench.run(profile="p", model=None)
    (request,) = bench.model.requests
    assert (request.model, request.body["reasoning"]["effort"]) == ("gpt-5.5", "low")
    assert "REPLACED" in request.system_text
    assert "APPENDED" in request.system_text
    assert "You are Codex" not in request.system_text
    assert request.authorization == "Bearer sk-of-the-profile"
    created = those(journal(result), ev.Created)[0]
    assert created.note == 'The thinking level "minimal" becomes "low" for codex.'
    assert not files_with(result.run_dir, "sk-of-the-profile")


# --- steering, stopping --------------------------------------------------------------------------------------


@real
async def test_what_it_is_told_while_it_works_is_heard_before_its_next_turn(play: Play) -> None:
    def heard(request: Request) -> Say:
        return Say(request.last_user_text)

    bench = play(Call("exec_command", {"cmd": "until test -e told; do sleep 0.05; done"}), heard)
    async with bench.delegation() as delegation:
        async for update in delegation:
            if isinstance(update.event, ev.ToolStarted):
                assert await delegation.steer(update.state.session_id, "Look under the elm.") is None
            if isinstance(update.event, ev.SteerRequested):
                (bench.project / "told").touch()
        (result,) = delegation.results
    assert result.output == "Look under the elm."
    assert [message.text for message in those(journal(result), ev.Message) if message.role == "user"] == [
        "Go.",
        "Look under the elm.",
    ]


def test_nobody_can_be_told_anything_without_a_turn() -> None:
    dialogue = begun()
    assert dialogue.steer("x") is None
    assert dialogue.abort() == b""


async def stopped(bench: Bench, when: Callable[[ev.Event], bool]) -> RunResult:
    async with bench.delegation() as delegation:
        async for update in delegation:
            if when(update.event):
                delegation.stop()
        (result,) = delegation.results
    return result


@real
async def test_a_run_that_is_stopped_in_a_command_leaves_nothing_behind(play: Play) -> None:
    bench = play(Call("exec_command", {"cmd": "setsid sleep 300 & sleep 300"}))
    result = await stopped(bench, lambda event: isinstance(event, ev.ToolStarted))
    assert (result.status, result.reason) == (Status.ABORTED, Reason.CANCELLED)
    events = journal(result)
    (settled,) = those(events, ev.AgentSettled)
    assert settled.aborted, "it was asked in its own protocol"
    assert [event.is_error for event in those(events, ev.ToolEnded)] == [True]
    await until_async(lambda: not pids_with(str(bench.root)))


def kill_all(bench: Bench, _delegation: Delegation) -> None:
    """As a machine does that has run out of memory."""
    for pid in pids_with(str(bench.root)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@real
@pytest.mark.parametrize("end", [kill_all, lambda _bench, delegation: delegation.stop()], ids=["killed", "stopped"])
async def test_a_command_that_is_ended_leaves_nothing_but_what_it_made(
    play: Play, end: Callable[[Bench, Delegation], None]
) -> None:
    script = "cat /proc/self/mountinfo > mounts; touch $TMPDIR/own; mv mounts made; sleep 300"
    bench = play(Call("exec_command", {"cmd": script, "yield_time_ms": 30_000}))
    temp = bench.root / "temp"
    temp.mkdir()
    bench.with_variables(TMPDIR=str(temp))
    bench.profile("approvals: allow")
    made = bench.project / "made"
    async with bench.delegation(profile="p") as delegation:
        async for update in delegation:
            if isinstance(update.event, ev.ToolStarted):
                await until_async(made.exists)
                assert (bench.project / ".git").is_dir(), "its sandbox holds the place of what is not there"
                end(bench, delegation)
        (result,) = delegation.results
    assert not result.ok
    assert {path.name for path in bench.project.iterdir()} == {".pi", "made"}
    assert not [*temp.iterdir(), *bench.home.iterdir()]
    assert not (result.run_dir / AGENT_HOME / "tmp").exists()
    protected = {line.split()[4] for line in made.read_text().splitlines()}
    assert str(bench.project / ".git") in protected
    assert not [path for path in protected if path.endswith("/.git") and not path.startswith(str(bench.root))], (
        "all others would find it there"
    )


@real
@pytest.mark.parametrize("end", [kill_all, lambda _bench, delegation: delegation.stop()], ids=["killed", "stopped"])
@pytest.mark.parametrize("mode", ["workspace-write", "danger-full-access"])
async def test_empty_directories_of_the_user_and_the_task_stay(
    play: Play, mode: str, end: Callable[[Bench, Delegation], None]
) -> None:
    bench = play(Call("exec_command", {"cmd": "mkdir .agents; rm .aws/old; sleep 300", "yield_time_ms": 30_000}))
    (bench.project / ".aws").mkdir()
    (bench.project / ".aws" / "old").touch()
    bench.profile(f"mode: {mode}")
    async with bench.delegation(profile="p") as delegation:
        async for update in delegation:
            if isinstance(update.event, ev.ToolStarted):
                await until_async((bench.project / ".agents").exists)
                (bench.project / ".aws" / "old").unlink(missing_ok=True)
                end(bench, delegation)
    left = {path.name for path in bench.project.iterdir()}
    assert left == {".pi", ".aws", *([".agents"] if mode == "danger-full-access" else [])}


@pytest.mark.parametrize(
    ("fields", "held"),
    [
        ({}, ()),
        ({"approvals": "allow"}, (".agents", ".codex", ".aws")),
        ({"approvals": "deny"}, ()),
        ({"mode": "workspace-write"}, (".agents", ".codex", ".aws")),
        ({"mode": "danger-full-access", "approvals": "allow"}, ()),
        ({"inherit": True}, (".agents", ".codex", ".aws")),
    ],
)
def test_its_sandbox_holds_the_places_of_what_is_missing_if_commands_may_write(
    fields: dict[str, Any], held: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / ".git").touch()
    place = Place(tmp_path, tmp_path, {"HOME": str(tmp_path)})
    profile = Profile(name="p", **fields)
    launch = Launch(Program(("x",), "test"), "Go.", tmp_path, tmp_path / "run", place, place.environ, profile)
    assert harness_named("codex").invocation(launch).placeholders == held


@real
async def test_a_command_writes_for_the_task_and_in_a_directory_of_its_own_and_reaches_nobody(play: Play) -> None:
    """The sandbox is whole."""
    places = ("made", "../far", "/tmp/far", ".git/far")
    script = "; ".join(f"touch {place} && echo {place}" for place in places)
    bench = play(Say("Never."))
    port = bench.model.url.rpartition(":")[2]
    script += f"; touch $TMPDIR/own && echo own; bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && echo reached"
    bench = play(Call("exec_command", {"cmd": f"({script}) 2>/dev/null"}), Say("Done."))
    bench.profile("approvals: allow")
    events = journal(await bench.run(profile="p"))
    (told,) = [event.text for event in those(events, ev.Message) if event.role == "toolResult"]
    assert told.split()[:2] == ["made", "own"]
    assert not [word for word in ("far", "reached") if word in told]


@real
async def test_a_run_that_is_stopped_in_its_answer_keeps_what_was_said(play: Play) -> None:
    result = await stopped(play(Hang("I begin to say")), lambda event: isinstance(event, ev.Delta))
    assert (result.status, result.output) == (Status.ABORTED, "I begin to say")


@real
async def test_its_own_sub_agents_answer_to_it_and_end_with_it(play: Play) -> None:
    spawn = Call("multi_agent_v1__spawn_agent", {"message": "SUBTASK: find the well"})
    done = Say("Delegation done.")
    # If its sub-agent answers while the model does, codex tells the model at once, and gets its last answer again.
    script = Script().when("SUBTASK", [Say("Sub says oak.")]).otherwise([spawn, done, done])
    result = await play(script=script).run(model="scripted")
    assert result.output == "Delegation done."
    assert "Sub says oak." not in str(those(journal(result), ev.Message))


# --- conversations -------------------------------------------------------------------------------------------


@real
async def test_a_session_goes_on_natively_in_another_run_directory_with_its_own_usage(play: Play) -> None:
    def words(request: Request) -> Turn:
        said = [str(message["content"]) for message in request.messages if message["role"] == "assistant"]
        return Turn(text=f"Before I said: {said}", usage=Usage(50, 5))

    bench = play(Turn(text="The word is swordfish.", usage=Usage(1000, 100)), words)
    (bench.place.agent_dir / "settings.json").write_text(json.dumps({"subagents": {"resumeMode": "native"}}))
    first = await bench.run("Choose a word.")
    kept = [path for path in (first.run_dir / AGENT_HOME).rglob("*") if path.is_file()]
    assert [path.name.startswith("rollout-") for path in kept] == [True], "nothing else of its home is kept"
    assert kept[0].stat().st_mode & 0o777 == 0o600
    second = await bench.run("Which word?", resume=first.session_id)
    assert second.output == "Before I said: ['The word is swordfish.']"
    assert second.usage.total_tokens == 55
    assert load_run(second.run_dir).resume_mode == "native"
    assert load_run(second.run_dir).conversation == load_run(first.run_dir).conversation


@real
async def test_a_session_goes_on_with_another_login_and_after_a_run_that_never_began(play: Play) -> None:
    bench = play(Say("One."), Say("Two."), Say("Three."))
    (bench.place.agent_dir / "settings.json").write_text(json.dumps({"subagents": {"resumeMode": "native"}}))
    first = await bench.run()
    usual = bench.place
    bench.with_variables(PI_SUBAGENTS_CODEX="/bin/false")
    assert not (await bench.run(resume=first.session_id)).ok
    log_in(bench)
    bench.with_variables(PI_SUBAGENTS_CODEX=str(PROGRAM), OPENAI_API_KEY="")
    assert (await bench.run(resume=first.session_id)).output == "Two."
    bench.place = usual
    assert (await bench.run(resume=first.session_id)).output == "Three."
    keys = [request.authorization.removeprefix("Bearer ") for request in bench.model.requests]
    assert keys == ["sk-of-the-environment", "sk-of-the-login", "sk-of-the-environment"]


def log_in(bench: Bench) -> Path:
    login = bench.home / ".codex" / "auth.json"
    login.parent.mkdir()
    login.write_text(json.dumps({"auth_mode": "apikey", "OPENAI_API_KEY": "sk-of-the-login"}))
    return login


# --- what it sees of its user and the project ----------------------------------------------------------------


def furnish(bench: Bench) -> None:
    """What a user and a project may have that concerns codex."""
    server = f'[mcp_servers.x]\ncommand = "touch"\nargs = ["{bench.root}/ran"]\n'
    skill = "---\nname: {}\ndescription: SKILL\n---\nSKILLBODY"
    files = {
        bench.home / ".codex/config.toml": 'developer_instructions = "USERCONFIG"\n',
        bench.home / ".codex/AGENTS.md": "USERDOC",
        bench.home / ".agents/skills/us/SKILL.md": skill.format("us"),
        bench.project / ".agents/skills/ps/SKILL.md": skill.format("ps"),
        bench.project / "AGENTS.md": "PROJECTDOC",
        bench.project / ".codex/config.toml": f'developer_instructions = "PROJECTCONFIG"\n{server}',
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@real
@pytest.mark.parametrize("approvals", ["allow", "deny"])
async def test_nothing_of_the_user_and_the_project_is_loaded(play: Play, approvals: str) -> None:
    bench = play(Say("Done."))
    furnish(bench)
    before = sorted(bench.home.rglob("*"))
    bench.profile(f"approvals: {approvals}")
    assert (await bench.run("$ps $us $imagegen Go.", profile="p")).ok
    asked = json.dumps(bench.model.requests[0].body)
    assert "create_goal" not in bench.model.requests[0].tools, "it would go on after the task"
    found = [word for word in ("USERCONFIG", "USERDOC", "SKILL", "PROJECTDOC", "PROJECTCONFIG") if word in asked]
    assert not found
    assert not (bench.root / "ran").exists(), "a server of the project was started"
    assert sorted(bench.home.rglob("*")) == before


@real
async def test_what_is_inherited_is_the_users_own(play: Play) -> None:
    bench = play(Say("Done."))
    furnish(bench)
    bench.profile("inherit: true")
    result = await bench.run(profile="p")
    assert result.ok
    asked = json.dumps(bench.model.requests[0].body)
    assert all(word in asked for word in ("USERCONFIG", "USERDOC", "SKILL"))
    assert "trust_level" not in (bench.home / ".codex/config.toml").read_text()
    assert (result.run_dir / AGENT_HOME / "sessions").is_dir(), "its conversation is ours all the same"


@real
@pytest.mark.parametrize("mode", ["", "mode: workspace-write\n"], ids=["read-only", "workspace-write"])
async def test_what_is_inherited_is_nothing_of_a_project_that_is_not_trusted(play: Play, mode: str) -> None:
    bench = play(Say("Done."))
    furnish(bench)
    with (bench.home / ".codex/config.toml").open("a") as config:
        config.write(f'[projects."{bench.project}"]\ntrust_level = "trusted"\n')
    bench.profile(f"{mode}inherit: true")
    assert (await bench.run("$ps $us Go.", profile="p")).ok
    assert not (bench.root / "ran").exists(), "a server of the project was started"
    asked = json.dumps(bench.model.requests[0].body)
    assert [word for word in ("USERCONFIG", "PROJECTCONFIG", "us/SKILL.md", "ps/SKILL.md") if word in asked] == [
        "USERCONFIG",
        "us/SKILL.md",
    ]

    bench.place = replace(bench.place, trusts_project=True)
    assert (await bench.run(profile="p")).ok
    assert (bench.root / "ran").exists(), "what is trusted counts"


@real
async def test_of_what_is_inherited_a_profile_can_leave_out_context_files_and_skills(play: Play) -> None:
    bench = play(Say("Done."))
    furnish(bench)
    bench.profile("inherit: true\nnoContextFiles: true\nnoSkills: true")
    assert (await bench.run("$ps $us Go.", profile="p")).ok
    asked = json.dumps(bench.model.requests[0].body)
    assert [word for word in ("USERCONFIG", "USERDOC", "SKILL", "PROJECTDOC") if word in asked] == ["USERCONFIG"]


@real
async def test_the_key_is_in_no_file_at_any_time_and_not_in_the_environment_of_its_tools(play: Play) -> None:
    key, found = "sk-of-the-environment", list[Path]()

    def look(request: Request) -> Say:
        found.extend([*files_with(bench.root, key), *bench.root.rglob("shell_snapshots/*")])
        return Say(request.tool_results[-1].text)

    bench = play(Call("exec_command", {"cmd": "env"}), look)
    result = await bench.run()
    assert bench.model.requests[0].authorization == f"Bearer {key}"
    assert MARK_VARIABLE in result.output
    assert "OPENAI_API_KEY" not in result.output
    assert not [*found, *files_with(bench.root, key)]


@real
async def test_what_is_inherited_keeps_more_than_the_key_out_of_the_environment_of_its_tools(play: Play) -> None:
    bench = play(Call("exec_command", {"cmd": "env"}), lambda request: Say(request.tool_results[-1].text))
    (bench.home / ".codex").mkdir()
    policy = '[shell_environment_policy]\nexclude = ["PRIVATE_*"]\nset = { OF_THE_USER = "1" }\n'
    (bench.home / ".codex/config.toml").write_text(policy)
    bench.with_variables(PRIVATE_THING="private")
    bench.profile("inherit: true\nmode: read-only\napiKey: sk-of-the-profile")
    result = await bench.run(profile="p")
    told = dict(line.partition("=")[::2] for line in result.output.splitlines())
    assert (told["OF_THE_USER"], told["OPENAI_API_KEY"], told["CODEX_API_KEY"]) == ("1", "", "")
    assert "PRIVATE_THING" not in told


@real
@pytest.mark.parametrize(
    ("step", "logged_in"), [(Say("Done."), False), (Say("Done."), True), (Fail(401, "wrong"), False)]
)
async def test_a_password_in_the_address_of_the_provider_is_in_no_file(
    play: Play, step: Say | Fail, *, logged_in: bool
) -> None:
    bench = play(step)
    address = bench.place.environ["OPENAI_BASE_URL"].replace("://", "://me:pass-of-the-proxy@")
    bench.with_variables(OPENAI_BASE_URL=address)
    if logged_in:
        log_in(bench)
        bench.with_variables(OPENAI_API_KEY="")
    result = await bench.run()
    assert result.ok is isinstance(step, Say)
    assert bench.model.requests
    assert not files_with(result.run_dir, "pass-of-the-proxy")


@real
async def test_a_login_is_used_where_it_is_and_goes_before_a_key_that_is_for_others(play: Play) -> None:
    bench = play(Say("Done."))
    login, harness = log_in(bench), harness_named("codex")
    assert harness.credentials(bench.place) == "key in OPENAI_API_KEY", "an address and a key belong together"
    bench.with_variables(OPENAI_API_KEY="", CODEX_HOME=str(login.parent))
    assert harness.credentials(bench.place) == "logged in"
    result = await bench.run()
    assert result.ok
    assert bench.model.requests[0].authorization == "Bearer sk-of-the-login"
    assert not files_with(result.run_dir, "sk-of-the-login")
    assert login.exists()
    nowhere = {name: value for name, value in bench.place.environ.items() if name != "OPENAI_BASE_URL"}
    bench.place = Place(bench.place.cwd, bench.place.agent_dir, {**nowhere, "OPENAI_API_KEY": "sk-for-others"})
    assert harness.credentials(bench.place) == "logged in"
    bench.with_variables(CODEX_API_KEY="sk-for-codex")
    assert harness.credentials(bench.place) == "key in CODEX_API_KEY"


@real
async def test_a_login_that_is_printed_is_in_no_record(play: Play) -> None:
    bench = play(Call("exec_command", {"cmd": "cat $CODEX_HOME/auth.json"}), Say("It is sk-of-the-login."))
    log_in(bench)
    bench.with_variables(OPENAI_API_KEY="")
    result = await bench.run()
    assert result.output == f"It is {MARK}."
    (printed,) = [event.text for event in those(journal(result), ev.Message) if event.role == "toolResult"]
    assert MARK in printed
    assert not files_with(result.run_dir, "sk-of-the-login")


@real
def test_the_doctor_asks_the_server_and_leaves_nothing_behind(play: Play) -> None:
    bench = play(Say("Never."))
    findings = {finding.check: finding for finding in diagnose(bench.place, harness_named("codex"))}
    assert findings["codex"].ok
    assert "0.166.0" in findings["codex"].detail
    assert "key in OPENAI_API_KEY" in findings["codex"].detail
    assert not list(bench.home.iterdir())
    bench.with_variables(PI_SUBAGENTS_CODEX="/bin/false")
    assert not {finding.check: finding for finding in diagnose(bench.place, harness_named("codex"))}["codex"].ok
