"""What real agents that speak ACP said, decoded; then what is special about the real opencode and Gemini CLI."""

from __future__ import annotations

import asyncio
import copy
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.diagnosis.diagnose import diagnose
from pi_subagents.fold import RunState, fold
from pi_subagents.harness import AGENT_HOME, Conversation, Launch, Program, harness_named
from pi_subagents.harness.acp.agents import AGENTS, AcpAgent
from pi_subagents.harness.acp.dialogue import AcpDialogue
from pi_subagents.harness.acp.setup import OPENING, Brief
from pi_subagents.harness.programs import variable_of
from pi_subagents.harness.table import ACP_AGENTS
from pi_subagents.jsonl import Framer, Oversized
from pi_subagents.models import Reason, Status, Task
from pi_subagents.models import event as ev
from pi_subagents.models.task import Profile, Secret
from pi_subagents.offline import Call, Hang, OfflineModel, Request, Say, Script, Turn
from pi_subagents.place import Place
from pi_subagents.profiles import invalidate_profiles_cache
from pi_subagents.runs.run import RunResult
from pi_subagents.store import JOURNAL_FILE, load_run, read_journal
from scripts.bootstrap import AGENTS as BROUGHT
from tests.kit.processes import pids_with
from tests.kit.waiting import until
from tests.kit.workplace import MARK_VARIABLE

AT = 1_700_000_000_000
DATA = Path(__file__).parents[1] / "data" / "workers"
STREAMS = [path for path in sorted(DATA.glob("*-acp/*.jsonl")) if not path.name.endswith(".sent.jsonl")]
E = TypeVar("E", bound=ev.Event)

_LAST_RECORDS = 2

each_stream = pytest.mark.parametrize("stream", STREAMS, ids=lambda path: f"{path.parent.name}-{path.stem}")

# --- records of real programs --------------------------------------------------------------------------------


def those(events: Iterable[ev.AnyEvent], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


class Played:
    """A recorded stream, answering what a dialogue asks: the ids of its answers become those of our requests."""

    def __init__(self, stream: Path) -> None:
        agent = stream.parent.name.removesuffix("-acp")
        sent = [json.loads(line) for line in stream.with_suffix(".sent.jsonl").read_bytes().splitlines()]
        requests = [record for record in sent if "method" in record]
        opened: dict[str, Any] = next(
            (record["params"] for record in requests if record["method"].startswith("session/")), {}
        )
        modes = [record["params"]["modeId"] for record in requests if record["method"] == "session/set_mode"]
        brief = Brief("/lab", "Go.", opened.get("sessionId"), mode=modes[0] if modes else None)
        self.dialogue = AcpDialogue(AGENTS[agent], brief)
        self.records = [json.loads(line) for line in stream.read_bytes().splitlines() if line.strip()]
        self.events: list[ev.AnyEvent] = []
        self._methods = {record["id"]: _ours(record["method"]) for record in requests if "id" in record}
        self._waiting = {"initialize": 1}
        self._prompts = sum(record["method"] == "session/prompt" for record in requests)

    def frame(self, record: dict[str, Any]) -> bytes:
        """The record as this dialogue would get it."""
        method = self._methods.get(record["id"], record["id"]) if "method" not in record else None
        return json.dumps({**record, "id": self._waiting.get(method, 99)} if method else record).encode()

    def play(self, record: dict[str, Any]) -> None:
        self.events += self.dialogue.decode(self.frame(record), AT)
        for line in self.dialogue.take_replies().splitlines():
            if "method" in (reply := json.loads(line)):
                self._waiting[_ours(reply["method"])] = reply["id"]
            if reply.get("method") in ("session/list", "_pi_subagents/ping"):  # nobody asked that when it was recorded
                self.play({"id": reply["method"], "result": {"sessions": []}})
        for request in those(self.events[-1:], ev.ApprovalRequested):
            self.dialogue.answer(request.id, allowed="reject" not in str(self.records))

    def play_all(self) -> RunState:
        for record in self.records:
            self.play(record)
        return fold(RunState(), [*self.events, *self.dialogue.ended(0, AT)])


def _ours(method: str) -> str:
    """All ways to open a conversation are one here."""
    return "open" if method in ("session/new", "session/load", "session/resume", "session/fork") else method


def of_stream(name: str) -> tuple[RunState, list[ev.AnyEvent]]:
    played = Played(DATA / f"{name}.jsonl")
    return played.play_all(), played.events


@each_stream
def test_a_real_stream_is_decoded_to_its_end_with_nothing_unknown_that_matters(stream: Path) -> None:
    played = Played(stream)
    state = played.play_all()
    # Some streams go on with a second conversation, or a second prompt, that we never begin.
    assert {event.kind for event in those(played.events, ev.Unknown)} <= {"answer", "session/update"}
    started, ended = those(played.events, ev.ToolStarted), those(played.events, ev.ToolEnded)
    assert [event.id for event in ended] == [event.id for event in ended if event.id in {one.id for one in started}]
    answered = any("stopReason" in object_of(record) or "error" in record for record in played.records)
    assert state.settled == answered
    if state.settled:
        assert {event.id for event in started} == {event.id for event in ended}


def object_of(record: dict[str, Any]) -> dict[str, Any]:
    result = record.get("result")
    return result if isinstance(result, dict) else {}


@each_stream
def test_a_stream_may_break_off_at_every_byte_of_its_last_records_and_all_that_came_before_is_kept(
    stream: Path,
) -> None:
    played = Played(stream)
    for left, record in reversed(list(enumerate(reversed(played.records)))):
        if left < _LAST_RECORDS:
            frame = played.frame(record)
            for end in range(1, len(frame)):
                assert_breaks_off(played.dialogue, frame[:end])
            state = fold(RunState(), [*played.events, *_copied(played.dialogue).ended(1, AT)])
            assert streamed(played.events) in state.text
            assert state.settled is fold(RunState(), played.events).settled
        played.play(record)


def assert_breaks_off(dialogue: AcpDialogue, piece: bytes) -> None:
    """Expect a piece of a record to be shown as it is, to mean nothing, and to leave the end as it was."""
    cut, framer = _copied(dialogue), Framer()
    [frame] = [*framer.feed(piece), *framer.finish()]
    [shown] = cut.decode(frame, AT)
    assert isinstance(shown, ev.Output)
    assert not cut.take_replies()
    assert cut.ended(1, AT) == _copied(dialogue).ended(1, AT)


def streamed(events: Iterable[ev.AnyEvent]) -> str:
    """What came of a message that is not whole yet."""
    pieces: list[str] = []
    for event in events:
        if isinstance(event, ev.MessageStarted | ev.Message):
            pieces = []
        elif isinstance(event, ev.Delta) and event.kind == "text":
            pieces.append(event.text)
    return "".join(pieces)


def _copied(dialogue: AcpDialogue) -> AcpDialogue:
    copied = copy.copy(dialogue)
    copied.__dict__.update({name: copy.deepcopy(value) for name, value in _plain(dialogue).items()})
    return copied


def _plain(dialogue: AcpDialogue) -> dict[str, Any]:
    """What it remembers, but for what cannot be copied; nothing at the end of a stream is still being set up."""
    return {name: value for name, value in vars(dialogue).items() if name not in ("_setup", "_agent", "_brief")}


JUNK: tuple[Any, ...] = (None, 7, -0.5, 1e400, "x", [], [None], {"type": []})


def _broken(value: Any) -> Iterator[Any]:
    """The value with each of its parts replaced by something else."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: junk} for junk in JUNK)
            yield from ({**value, key: other} for other in _broken(inner))
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in _broken(inner))


@pytest.mark.parametrize(
    "name", ["opencode-acp/perm-allow", "opencode-acp/401", "gemini-acp/perm-reject", "copilot-acp/slowbash"]
)
def test_decoding_never_raises_whatever_is_in_the_place_of_a_value(name: str) -> None:
    stream = DATA / f"{name}.jsonl"
    for count, record in enumerate(Played(stream).records):
        for broken in _broken(json.loads(_played(stream, count).frame(record))):
            played = _played(stream, count)
            events = played.dialogue.decode(json.dumps(broken).encode(), AT)
            fold(RunState(), [*played.events, *events, *played.dialogue.ended(1, AT)])
            assert played.dialogue.take_replies() is not None


def _played(stream: Path, count: int) -> Played:
    played = Played(stream)
    for record in played.records[:count]:
        played.play(record)
    return played


# --- what records stand for ----------------------------------------------------------------------------------


def at_work(agent: str = "acp", **brief: Any) -> AcpDialogue:
    """A dialogue that has sent its prompt, with the id 3."""
    dialogue = AcpDialogue(AGENTS[agent], Brief("/lab", "Go.", **brief))
    hear(dialogue, {"id": 1, "result": {"protocolVersion": 1}}, {"id": 2, "result": {"sessionId": "s"}})
    dialogue.take_replies()
    return dialogue


def hear(dialogue: AcpDialogue, *records: dict[str, Any]) -> list[ev.AnyEvent]:
    return [event for record in records for event in dialogue.decode(json.dumps(record).encode(), AT)]


def update(kind: str, **fields: Any) -> dict[str, Any]:
    return {"method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": kind, **fields}}}


def chunk(text: str, **fields: Any) -> dict[str, Any]:
    return update("agent_message_chunk", content={"type": "text", "text": text}, **fields)


def replies(dialogue: AcpDialogue) -> list[dict[str, Any]]:
    return [json.loads(line) for line in dialogue.take_replies().splitlines()]


def test_it_is_greeted_in_version_1_with_nothing_to_offer_and_asked_when_it_is_set_up() -> None:
    hello = json.loads(OPENING)["params"]
    assert (hello["protocolVersion"], hello["clientCapabilities"]) == (1, {})
    dialogue = AcpDialogue(AGENTS["acp"], Brief("/lab", "Go.", mode="plan"))
    steps = []
    for number in (1, 2, 3):
        hear(dialogue, {"id": number, "result": {"sessionId": "s"}})
        steps += [(reply["method"], reply["params"].get("modeId")) for reply in replies(dialogue)]
    assert steps == [("session/new", None), ("session/set_mode", "plan"), ("session/prompt", None)]


def test_one_that_speaks_another_version_is_not_asked_anything() -> None:
    dialogue = AcpDialogue(AGENTS["acp"], Brief("/lab", "Go."))
    (refused,) = hear(dialogue, {"id": 1, "result": {"protocolVersion": 2}})
    assert refused == ev.CommandRefused(
        at=AT, command="prompt", message="The agent speaks version 2 of ACP, but only version 1 is supported"
    )
    assert not dialogue.take_replies()


def test_one_that_wants_a_login_says_how_to_log_in() -> None:
    dialogue = AcpDialogue(AGENTS["gemini"], Brief("/lab", "Go."))
    hear(dialogue, {"id": 1, "result": {}})
    (refused,) = hear(dialogue, {"id": 2, "error": {"code": -32000, "message": "Authentication required"}})
    assert isinstance(refused, ev.CommandRefused)
    assert refused.message.startswith("Authentication required (to log in: run `gemini` once, or set GEMINI_API_KEY")
    state = fold(RunState(), [refused])
    assert (state.settled, state.stop_reason) == (True, "error")


@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file", "terminal/create", "_own/question"])
def test_whatever_else_it_asks_for_there_is_no_such_method(method: str) -> None:
    dialogue = at_work()
    assert hear(dialogue, {"id": "x", "method": method, "params": {}}) == []
    assert replies(dialogue) == [
        {"jsonrpc": "2.0", "id": "x", "error": {"code": -32601, "message": "Method not found"}}
    ]


@pytest.mark.parametrize(
    ("kinds", "allowed", "outcome"),
    [
        (["allow_always", "allow_once", "reject_once"], True, {"outcome": "selected", "optionId": 1}),
        (["allow_once", "reject_always"], False, {"outcome": "selected", "optionId": 1}),
        (["allow_once"], False, {"outcome": "cancelled"}),
    ],
)
def test_an_approval_is_answered_by_the_kind_of_what_is_offered(
    kinds: list[str], allowed: bool, outcome: dict[str, Any]
) -> None:
    dialogue = at_work()
    call = {"toolCallId": "c", "title": "rm -r /", "kind": "execute"}
    options = [{"optionId": number, "kind": kind} for number, kind in enumerate(kinds)]
    ask = {"id": 0, "method": "session/request_permission", "params": {"toolCall": call, "options": options}}
    *_, started, asked = hear(dialogue, ask)
    assert started == ev.ToolStarted(at=AT, id="c", name="bash", arguments={"command": "rm -r /"})
    assert asked == ev.ApprovalRequested(at=AT, id="0", what="rm -r /", tool_name="bash", tool_call_id="c")
    assert json.loads(dialogue.answer("0", allowed=allowed)) == {
        "jsonrpc": "2.0",
        "id": 0,
        "result": {"outcome": outcome},
    }
    assert dialogue.answer("0", allowed=allowed) == b"", "once is enough"


@pytest.mark.parametrize(
    ("head", "answered"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"x', 7),
        (b'{"jsonrpc": "2.0", "method": "fs/write_text_file", "id": "w-1", "params": {', "w-1"),
        (b'{"jsonrpc":"2.0","id":77,"result":{"method":"x', None),
        (b'{"jsonrpc":"2.0","method":"session/update","params":{"id":7,"method":"x', None),
    ],
)
def test_a_request_that_is_too_large_to_keep_is_refused_so_that_nobody_waits(head: bytes, answered: object) -> None:
    dialogue = at_work()
    (event,) = dialogue.decode(Oversized(40_000_000, head), AT)
    assert isinstance(event, ev.Dropped)
    assert [(reply["id"], "error" in reply) for reply in replies(dialogue)] == ([(answered, True)] if answered else [])


def test_an_answer_that_is_too_large_to_keep_ends_what_waited_for_it() -> None:
    huge = Oversized(40_000_000, b'{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","_meta":{"x":"')
    dialogue = at_work()
    state, text = ended_text(dialogue, [*hear(dialogue, chunk("All I "), chunk("said.")), *dialogue.decode(huge, AT)])
    assert (state.stop_reason, state.error_message, text) == (
        "error",
        "The agent's answer is too large to read",
        "All I said.",
    )


def test_a_denied_call_ends_when_the_agent_goes_on_even_if_it_does_not_say_so() -> None:
    _, events = of_stream("gemini-acp/perm-reject")
    denied = next(event for event in events if isinstance(event, ev.ToolEnded) and event.name == "edit")
    assert denied.is_error
    assert not those(events, ev.FileChanged)


@pytest.mark.parametrize(
    ("stop", "reason", "aborted"),
    [
        ("end_turn", "stop", None),
        ("cancelled", "aborted", True),
        ("refusal", "error", None),
        ("max_tokens", "error", None),
        ("max_turn_requests", ev.LIMIT, None),
        ("something_new", "error", None),
    ],
)
def test_the_end_is_what_the_answer_to_the_prompt_says(stop: str, reason: str, aborted: bool | None) -> None:
    dialogue = at_work()
    events = hear(dialogue, chunk("So far."), {"id": 3, "result": {"stopReason": stop}})
    (message,) = [event for event in those(events, ev.Message) if event.role == "assistant"]
    assert (message.text, message.stop_reason) == ("So far.", reason)
    assert events[-1] == ev.AgentSettled(at=AT, aborted=aborted)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ({"message": "Internal error: no credit"}, "no credit"),
        ({"message": "Internal error", "data": {"details": "401 no key"}}, "401 no key"),
        ({"message": '{"error": {"message": "quota exceeded"}}'}, "quota exceeded"),
        ({"message": "Invalid params", "data": {"message": "no such model"}}, "Invalid params: no such model"),
        (None, "The agent failed"),
    ],
)
def test_a_failure_has_the_words_of_the_provider(error: object, sentence: str) -> None:
    events = hear(at_work(), {"id": 3, "error": error})
    state = fold(RunState(), events)
    assert (state.settled, state.stop_reason, state.error_message) == (True, "error", sentence)


def ended_text(dialogue: AcpDialogue, events: list[ev.AnyEvent]) -> tuple[RunState, str]:
    state = fold(RunState(), [*events, *dialogue.ended(0, AT)])
    return state, state.text


def test_what_comes_after_the_answer_is_its_end() -> None:
    dialogue = at_work()
    done = {"id": 3, "result": {"stopReason": "end_turn"}}
    state, text = ended_text(dialogue, hear(dialogue, chunk("The answer is "), done, chunk("4"), chunk("2.")))
    assert text == "The answer is 42."
    assert state.stop_reason == "stop"


def test_a_message_that_is_refused_leaves_the_work_as_it_is() -> None:
    dialogue = at_work("opencode")
    events = hear(dialogue, chunk("Half"))
    assert dialogue.steer("And this.")
    events += hear(dialogue, {"id": 4, "error": {"code": -32603, "message": "Busy"}}, chunk(" and half."))
    assert those(events, ev.CommandRefused) == [ev.CommandRefused(at=AT, command="steer", message="Busy")]
    assert not those(events, ev.AgentSettled)
    events += hear(dialogue, {"id": 3, "result": {"stopReason": "end_turn"}})
    state, text = ended_text(dialogue, events)
    assert (state.settled, state.stop_reason, text) == (True, "stop", "Half and half.")
    assert "And this." not in [message.text for message in those(events, ev.Message)]


@pytest.mark.parametrize("first", [3, 4])
def test_of_several_prompts_the_worst_end_counts(first: int) -> None:
    dialogue = at_work("opencode")
    hear(dialogue, chunk("Half"))
    assert dialogue.steer("And this.")
    ends = {3: "max_tokens", 4: "end_turn"}
    events = hear(dialogue, *({"id": id, "result": {"stopReason": ends[id]}} for id in (first, 7 - first)))
    assert [message.stop_reason for message in those(events, ev.Message)][-1] == "error"


def test_an_endless_message_takes_bounded_memory_and_keeps_its_end() -> None:
    dialogue = at_work()
    million = chunk("x" * 1_000_000)
    for _ in range(20):
        hear(dialogue, million)
    _, text = ended_text(dialogue, hear(dialogue, chunk(" The end."), {"id": 3, "result": {"stopReason": "end_turn"}}))
    assert len(text) < 5_000_000
    assert text.endswith(" The end.")


def test_what_comes_after_the_answer_is_not_lost() -> None:
    dialogue = at_work()
    events = hear(dialogue, {"id": 3, "result": {"stopReason": "end_turn"}}, chunk("Late.", messageId="m"))
    state = fold(RunState(), [*events, *dialogue.ended(0, AT)])
    assert (state.settled, state.text, state.message_count) == (True, "Late.", 1)


def test_a_message_is_whole_at_the_next_one_and_at_a_call() -> None:
    _, events = of_stream("opencode-acp/perm-allow")
    said = [message for message in those(events, ev.Message) if message.role == "assistant"]
    assert [message.text for message in said] == ["First read.", "Now edit.", "Edited."]
    assert [[call.name for call in message.tool_calls] for message in said] == [["read"], ["edit"], []]
    (change,) = those(events, ev.FileChanged)
    assert "-the well is under the oak\n+the well is under the elm\n" in change.diff
    assert (change.path, change.tool_call_id) == ("/lab/opencode-acp-perm-allow/ws/well.txt", "call_1_0")


@pytest.mark.parametrize(
    ("asked", "offered", "sent", "level", "note"),
    [
        ("off", ["none", "low"], "none", "off", None),
        ("medium", ["low", "high"], "low", "low", 'level "medium" becomes "low", the nearest'),
        ("xhigh", ["default", "max"], None, "default", 'offers no thinking level like "xhigh"'),
        ("high", None, None, None, 'offers no thinking level like "high"'),
    ],
)
def test_a_thinking_level_becomes_one_that_is_offered_and_any_other_than_asked_for_is_noted(
    asked: str, offered: list[str] | None, sent: str | None, level: str | None, note: str | None
) -> None:
    dialogue = AcpDialogue(AGENTS["acp"], Brief("/lab", "Go.", level=asked))
    values = [{"value": value} for value in offered or ()]
    option = {"id": "effort", "category": "thought_level", "currentValue": "default", "options": values}
    opened = {"sessionId": "s", "configOptions": [option] if offered else []}
    events = hear(dialogue, {"id": 1, "result": {}}, {"id": 2, "result": opened}, {"id": 3, "result": {}})
    asked_for = [reply["params"]["value"] for reply in replies(dialogue) if "value" in reply["params"]]
    assert asked_for == ([sent] if sent else [])
    state = fold(RunState(), [ev.Created(run_id="r", session_id="s", name="", prompt="", cwd="", harness=""), *events])
    assert state.thinking_level == level
    assert (note in state.note) if note and state.note else state.note == note


def test_what_an_agent_tells_again_of_an_earlier_conversation_is_not_said_twice() -> None:
    state, events = of_stream("opencode-acp/session-load")
    assert "First answer." not in [event.text for event in those(events, ev.Message)]
    assert state.text.startswith("Second answer")
    assert not state.has_cost, "what it tells is the cost of both runs"


def test_the_words_of_an_agent_below_are_not_the_answer() -> None:
    state, events = of_stream("opencode-acp/sub")
    assert state.text == "Delegation done."
    assert not state.has_cost, "what it tells leaves out the one below"
    assert [event.name for event in those(events, ev.ToolStarted)] == ["task"]


def test_words_with_the_call_of_an_agent_below_are_progress_and_not_the_answer() -> None:
    dialogue = at_work("qwen")
    call = update(
        "tool_call", toolCallId="c", title="Count", rawInput={"prompt": "Count."}, _meta={"toolName": "agent"}
    )
    below = chunk("There are 77.", _meta={"parentToolCallId": "c"})
    over = update("tool_call_update", toolCallId="c", status="completed")
    end = {"id": 3, "result": {"stopReason": "end_turn"}}
    events = hear(dialogue, call, below, over, chunk("Many."), end)
    assert fold(RunState(), events).text == "Many."
    assert [event.line for event in those(events, ev.ToolProgress)] == ["There are 77."]


@pytest.mark.parametrize(
    ("stream", "tokens", "has_cost", "context"),
    [
        ("opencode-acp/empty", (7690, 1, 7691), True, (7690, 100_000)),
        ("opencode-acp/write", (0, 0, 0), True, (7766, 100_000)),
        ("gemini-acp/write", (24007, 23, 24030), False, (None, None)),
        ("copilot-acp/edit", (30836, 39, 30875), False, (8759, 128_000)),
    ],
)
def test_usage_is_that_of_the_run_or_unknown(
    stream: str, tokens: tuple[int, ...], has_cost: bool, context: tuple[int | None, ...]
) -> None:
    state, _ = of_stream(stream)
    assert (state.usage.input, state.usage.output, state.usage.total_tokens) == tokens
    assert (state.has_cost, state.context_used, state.context_size) == (has_cost, *context)
    assert (state.usage.cost > 0) == has_cost


def test_tokens_from_a_cache_are_counted_once_where_the_total_includes_them() -> None:
    dialogue = at_work()
    usage = {"inputTokens": 30, "outputTokens": 2, "totalTokens": 32, "cachedReadTokens": 10, "cachedWriteTokens": 5}
    events = hear(dialogue, chunk("Done."), {"id": 3, "result": {"stopReason": "end_turn", "usage": usage}})
    (used,) = [total.usage for total in those(events, ev.UsageTotal)]
    assert (used.input, used.cache_read, used.cache_write, used.total_tokens) == (15, 10, 5, 32)


def test_what_copilot_says_beside_its_model_is_kept_and_no_answer() -> None:
    answer = {"id": 3, "result": {"stopReason": "end_turn"}}
    call = update("tool_call", toolCallId="a", title="Creating", rawInput={"path": "/tmp/new.txt"})
    events = hear(at_work("copilot"), call, chunk("Info: /tmp/new.txt"), chunk("Made."), answer)
    said = [(message.role, message.text) for message in those(events, ev.Message) if message.text]
    assert said == [("custom", "Info: /tmp/new.txt"), ("assistant", "Made.")]


@pytest.mark.parametrize(
    "pieces",
    [
        ["Info: all 12 tests pass."],
        ["Info: ", "the server was down."],
        ["Error:", " no such file is what it prints."],
        ["Error: no such file is what it prints."],
    ],
)
def test_an_answer_of_the_model_is_not_taken_for_copilots_own_words(pieces: list[str]) -> None:
    dialogue = at_work("copilot")
    usage = {"inputTokens": 30, "outputTokens": 2}
    done = {"id": 3, "result": {"stopReason": "end_turn", "usage": usage}}
    state, text = ended_text(dialogue, hear(dialogue, *map(chunk, pieces), done))
    assert (state.stop_reason, text) == ("stop", "".join(pieces))


def test_an_error_that_copilot_says_after_a_tool_fails_the_run() -> None:
    dialogue = at_work("copilot")
    call = update("tool_call", toolCallId="a", title="true", rawInput={"command": "true"})
    over = update("tool_call_update", toolCallId="a", status="completed")
    done = {"id": 3, "result": {"stopReason": "end_turn", "usage": {"inputTokens": 30}}}
    state, text = ended_text(dialogue, hear(dialogue, call, over, chunk("Error: 400 Bad things"), done))
    assert (state.stop_reason, state.error_message) == ("error", "400 Bad things")
    assert text == "Error: 400 Bad things"


def test_copilot_has_failed_if_its_model_was_silent_whatever_that_cost() -> None:
    dialogue, (said,) = at_work("copilot"), AGENTS["copilot"].errors
    done = {"id": 3, "result": {"stopReason": "end_turn", "usage": {"inputTokens": 30, "outputTokens": 3}}}
    state, _ = ended_text(dialogue, hear(dialogue, chunk(said), done))
    assert (state.stop_reason, state.error_message) == ("error", said.removeprefix("Error: "))


def test_of_an_answer_that_copilot_begins_anew_only_the_whole_one_counts() -> None:
    notice, answer = AGENTS["copilot"].retry_notice, {"id": 3, "result": {"stopReason": "end_turn"}}
    events = hear(at_work("copilot"), chunk("Half of"), chunk(notice), chunk("Whole."), answer)
    assert [message.text for message in those(events, ev.Message)] == ["Whole."]
    assert [retry.message for retry in those(events, ev.RetryStarted)] == [notice.removeprefix("Info: ")]


def test_what_copilot_says_of_an_error_is_no_answer() -> None:
    state, _ = of_stream("copilot-acp/overflow")
    assert state.stop_reason == "error"
    assert state.error_message


def test_a_command_that_fails_is_an_error_where_its_exit_code_is_told() -> None:
    for agent in ("opencode", "copilot"):
        _, events = of_stream(f"{agent}-acp/fail")
        assert [event.is_error for event in those(events, ev.ToolEnded)] == [True, True], agent


# --- how agents are started ----------------------------------------------------------------------------------


def test_the_table_of_harnesses_names_every_agent_that_has_an_entry() -> None:
    assert set(ACP_AGENTS) == set(AGENTS)


def test_a_new_agent_is_an_entry_and_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AGENTS, "acp", AcpAgent(arguments=("--acp",), honours=frozenset({"model"})))
    harness = harness_named("acp")
    assert harness.honours == frozenset({"model"})
    assert not harness.can_steer
    assert harness.steerable_as is None


# --- the real programs ---------------------------------------------------------------------------------------

_FOUND = {agent.name: agent.program for agent in BROUGHT}
PROGRAMS = {name: os.environ.get(variable_of(name)) or _FOUND.get(name) for name in ("opencode", "gemini")}
opencode, gemini = (
    pytest.param(name, marks=pytest.mark.skipif(program is None, reason=f"{name} could not be installed from npm"))
    for name, program in PROGRAMS.items()
)
both = pytest.mark.parametrize("agent", [opencode, gemini])
of_opencode = pytest.mark.parametrize("agent", [opencode])
of_gemini = pytest.mark.parametrize("agent", [gemini])
KEY = "sk-of-the-environment"


@dataclass
class Bench:
    """A project in which an agent works for a test, with a scripted model."""

    agent: str
    root: Path
    model: OfflineModel
    place: Place

    @property
    def project(self) -> Path:
        return self.place.cwd

    @property
    def home(self) -> Path:
        return self.root / "home"

    def profile(self, fields: str = "", body: str = "") -> None:
        path = self.place.agent_dir / "agent-profiles" / "p.md"
        path.write_text(f"---\nname: p\nagent: {self.agent}\n{fields}\n---\n{body}", encoding="utf-8")
        invalidate_profiles_cache()

    def delegation(self, prompt: str = "Go.", **task: Any) -> Delegation:
        task = task if "profile" in task else {"agent": self.agent, **task}
        return Delegation([Task("t", prompt, **task)], place=self.place, harness=harness_named(self.agent))

    async def run(self, prompt: str = "Go.", **task: Any) -> RunResult:
        (result,) = await self.delegation(prompt, **task)
        return result

    # The same calls in the words of each agent.

    def read(self, path: Path) -> Call:
        return (
            Call("read", {"filePath": str(path)}) if self.is_opencode else Call("read_file", {"file_path": str(path)})
        )

    def edit(self, path: Path, old: str, new: str) -> Call:
        if self.is_opencode:
            return Call("edit", {"filePath": str(path), "oldString": old, "newString": new})
        return Call("replace", {"file_path": str(path), "old_string": old, "new_string": new, "instruction": "x"})

    def write(self, path: Path, text: str) -> Call:
        if self.is_opencode:
            return Call("write", {"filePath": str(path), "content": text})
        return Call("write_file", {"file_path": str(path), "content": text})

    def shell(self, command: str) -> Call:
        name = "bash" if self.is_opencode else "run_shell_command"
        return Call(name, {"command": command, "description": "x"})

    @property
    def is_opencode(self) -> bool:
        return self.agent == "opencode"


Play = Callable[..., Bench]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """A function that starts a model with the steps of every conversation, and makes the bench around it."""
    invalidate_profiles_cache()
    for name in ("project/.pi", "agent/agent-profiles", "agent/subagents", "home"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "project" / "well.txt").write_text("the oak\nsecond\n")
    with ExitStack() as models:

        def begin(agent: str, *steps: Any) -> Bench:
            model = models.enter_context(OfflineModel(Script().otherwise(steps)))
            environ = {
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path / "home"),
                "PI_SUBAGENTS_DATA_DIR": str(tmp_path / "data"),
                variable_of(agent): str(PROGRAMS[agent]),
                MARK_VARIABLE: str(tmp_path),
                **_reached(agent, model),
            }
            return Bench(agent, tmp_path, model, Place(tmp_path / "project", tmp_path / "agent", environ))

        yield begin
    until(lambda: not pids_with(str(tmp_path)), "nothing of it is left")


def _reached(agent: str, model: OfflineModel) -> dict[str, str]:
    """The environment in which an agent asks the scripted model."""
    if agent == "gemini":
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_MODEL": "gemini-2.5-pro"}
    known = {
        "tool_call": True,
        "reasoning": True,
        "cost": {"input": 1, "output": 2},
        "limit": {"context": 99_000, "output": 8000},
    }
    options = {"baseURL": f"{model.url}/v1", "apiKey": "{env:OFFLINE_API_KEY}"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": known}}
    settings = {"model": "offline/scripted", "provider": {"offline": provider}}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(settings), "OFFLINE_API_KEY": KEY}


def journal(result: RunResult) -> list[ev.AnyEvent]:
    return list(read_journal(result.run_dir / JOURNAL_FILE))


def files_with(folder: Path, text: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@both
async def test_an_answer_arrives_with_its_thoughts_and_its_figures(agent: str, play: Play) -> None:
    bench = play(agent, Turn(text="Under the oak.", thinking="I think."))
    result = await bench.run("Where is the well?")
    assert (result.status, result.reason, result.output) == (Status.COMPLETED, Reason.SETTLED, "Under the oak.")
    messages = those(journal(result), ev.Message)
    assert [message.role for message in messages] == ["user", "assistant"]
    thought, said = messages[-1].parts
    assert isinstance(thought, ev.ThinkingPart)
    assert "I think." in thought.text
    assert said == ev.TextPart("Under the oak.")
    state = load_run(result.run_dir)
    assert state.model == ("scripted" if bench.is_opencode else "gemini-2.5-pro")
    assert state.has_cost == bench.is_opencode
    assert result.usage.output > 0
    assert result.usage.total_tokens == result.usage.input + result.usage.output


@of_gemini
async def test_many_changes_of_one_file_are_no_loop(agent: str, play: Play) -> None:
    bench = play(agent)
    file = bench.project / "song.txt"
    file.write_text("".join(f"line{number}\n" for number in range(6)))
    edits = [bench.edit(file, f"line{number}\n", f"LINE{number}\n") for number in range(6)]
    bench = play(agent, bench.read(file), *edits, Say("Changed."))
    bench.profile("approvals: allow")
    result = await bench.run(profile="p")
    assert (result.reason, result.output) == (Reason.SETTLED, "Changed.")
    assert file.read_text().count("LINE") == 6


# --- what the model sees -------------------------------------------------------------------------------------


def first_request(bench: Bench) -> Request:
    return next(request for request in bench.model.requests if request.streams)


@pytest.mark.parametrize("agent", ["opencode", "gemini", "qwen"])
def test_a_tool_that_it_does_not_have_is_refused_with_what_may_have_been_meant(agent: str, tmp_path: Path) -> None:
    harness = harness_named(agent)
    profile = Profile(name="p", exclude_tools=("bash", "raed"))
    (unknown,) = harness.unknown_tools(profile, tmp_path, tmp_path)
    assert (unknown.field, unknown.name) == ("excludeTools", "raed")
    assert "read" in unknown.hint


@pytest.mark.parametrize(
    ("agent", "fields", "why"),
    [
        (
            "opencode",
            "maxTurns: 3",
            'Profile "p" sets "maxTurns", which the agent "opencode" does not support. '
            "Leave it out, or choose an agent that supports it: claude, gemini",
        ),
        ("opencode", "model: scripted\napiKey: k", 'sets "apiKey", but not for which provider: write the model as'),
        ("gemini", "inherit: true\napiKey: k", 'sets "apiKey" and "inherit"; gemini would record what its tools print'),
        ("qwen", "inherit: true\napiKey: k", 'sets "apiKey" and "inherit"; qwen would record what its tools print'),
        ("acp", "apiKey: k", 'sets "apiKey", which the agent "acp" does not support'),
        ("opencode", "inherit: true\nnoContextFiles: true", "but also forbids them"),
        ("opencode", "tools: [read]\nextraArgs: [--pure]", 'sets "extraArgs", which could lift the restriction'),
        ("gemini", "thinkingLevel: high", 'sets "thinkingLevel", which'),
        ("qwen", "noTools: true", 'sets "noTools", which'),
        ("copilot", "noContextFiles: true", 'sets "noContextFiles", which'),
        ("acp", "tools: [read]", 'sets "tools", which'),
    ],
)
async def test_what_cannot_be_honoured_is_refused_before_the_start(
    agent: str, fields: str, why: str, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROGRAMS, agent, "/nowhere")
    bench = play(agent, Say("Never."))
    bench.profile(fields)
    result = await bench.run(profile="p")
    assert (result.status, result.reason) == (Status.FAILED, Reason.INVALID)
    assert result.error is not None
    assert why in result.error


@of_opencode
async def test_a_model_that_it_does_not_offer_is_an_error_before_the_prompt(agent: str, play: Play) -> None:
    bench = play(agent, Say("Never."))
    result = await bench.run(model="offline/nonsense")
    assert (result.status, result.error) == (Status.FAILED, "Invalid params: model not found: offline/nonsense")
    assert not bench.model.requests


@of_opencode
@pytest.mark.parametrize(("asked", "got"), [("high", "high"), ("xhigh", "high"), ("minimal", "low"), ("off", "low")])
async def test_it_thinks_as_much_as_it_is_told_to_or_the_nearest_and_says_so(
    asked: str, got: str, agent: str, play: Play
) -> None:
    bench = play(agent, Say("Done."))
    delegation = bench.delegation(thinking_level=asked)
    (result,) = await delegation
    note = f'The thinking level "{asked}" becomes "{got}", the nearest that the agent offers.' if asked != got else None
    state = load_run(result.run_dir)
    assert (result.status, state.thinking_level, state.note) == (Status.COMPLETED, got, note)
    assert delegation.warnings == [*filter(None, [note])]
    assert first_request(bench).body["reasoning_effort"] == got


@of_gemini
async def test_it_stops_when_it_has_had_its_turns(agent: str, play: Play) -> None:
    bench = play(agent)
    bench = play(agent, *[bench.read(bench.project / "well.txt")] * 3)
    bench.profile("maxTurns: 2")
    result = await bench.run(profile="p")
    assert (result.status, result.reason) == (Status.FAILED, Reason.LIMIT)
    assert len(bench.model.requests) == 2


# --- conversations -------------------------------------------------------------------------------------------


@of_opencode
async def test_a_conversation_goes_on_from_the_files_of_the_record(agent: str, play: Play) -> None:
    def second(request: Request) -> Say:
        return Say(str([message["content"] for message in request.messages if message["role"] == "assistant"]))

    bench = play(agent, Say("First answer."), second)
    bench.profile("resumeMode: native")
    first = await bench.run(profile="p")
    kept = sorted(path.name for path in (first.run_dir / AGENT_HOME).iterdir())
    assert kept == ["opencode.db", "opencode.db-shm", "opencode.db-wal"]
    assert {path.stat().st_mode & 0o777 for path in (first.run_dir / AGENT_HOME).iterdir()} == {0o600}
    result = await bench.run("And now?", profile="p", resume=first.session_id)
    assert (result.error, result.output) == (None, "['First answer.']")
    state = load_run(result.run_dir)
    assert (state.resume_mode, state.has_cost) == ("native", False)
    moved = bench.root / "elsewhere"
    bench.project.rename(moved)
    bench.place = Place(moved, bench.place.agent_dir, bench.place.environ)
    result = await bench.run("And now?", profile="p", resume=first.session_id)
    assert result.error == f"The agent can continue this conversation only in {bench.root}/project, where it began"


@of_gemini
async def test_gemini_goes_on_at_once_and_says_nothing_twice(agent: str, play: Play) -> None:
    bench = play(agent, Say("First answer."), lambda request: Say(f"Asked: {request.first_user_text[-9:]}"))
    bench.profile("resumeMode: native")
    first = await bench.run("One, Go.", profile="p")
    result = await bench.run("And now?", profile="p", resume=first.session_id)
    assert (result.error, result.output) == (None, "Asked: >One, Go.")
    assert load_run(result.run_dir).resume_mode == "native"
    said = [message.text for message in those(journal(result), ev.Message)]
    assert said == ["And now?", "Asked: >One, Go."]


@of_gemini
async def test_gemini_goes_on_as_often_as_one_likes(agent: str, play: Play) -> None:
    def earlier(request: Request) -> Say:
        return Say(str([word for word in ("One.", "Two.", "Three.") if word in str(request.body)]))

    bench = play(agent, Say("First."), earlier, earlier)
    bench.profile("resumeMode: native")
    result = await bench.run("One.", profile="p")
    for prompt in ("Two.", "Three."):
        result = await bench.run(prompt, profile="p", resume=result.session_id)
    assert (result.error, result.output) == (None, "['One.', 'Two.', 'Three.']")
    assert load_run(result.run_dir).resume_mode == "native"


@of_opencode
async def test_where_a_conversation_never_began_the_earlier_run_is_retold(agent: str, play: Play) -> None:
    bench = play(agent, Say("Noted."))
    bench.profile("resumeMode: native")
    first = await bench.run("Remember the quince.", profile="p")
    journal_file = first.run_dir / JOURNAL_FILE
    # As it is if the run is stopped before the agent has said which conversation it has opened.
    lines = [line for line in journal_file.read_bytes().splitlines(True) if b'"agent_session"' not in line]
    journal_file.write_bytes(b"".join(lines))
    await assert_is_retold(bench, first)


@of_gemini
async def test_where_gemini_was_stopped_before_its_first_answer_the_earlier_run_is_retold(
    agent: str, play: Play
) -> None:
    bench = play(agent, Hang())
    bench.profile("resumeMode: native")
    delegation = bench.delegation("Remember the quince.", profile="p")
    work = asyncio.ensure_future(_results(delegation))
    await asyncio.to_thread(until, lambda: bench.model.requests, "the model was asked")
    delegation.stop()
    (first,) = await work
    assert first.status is Status.ABORTED
    bench = play(agent, Say("It was the quince."))
    await assert_is_retold(bench, first)


async def _results(delegation: Delegation) -> Sequence[RunResult]:
    return await delegation


async def assert_is_retold(bench: Bench, first: RunResult) -> None:
    result = await bench.run("Which word?", profile="p", resume=first.session_id)
    state = load_run(result.run_dir)
    assert (result.error, state.beginning) == (None, "retold")
    assert state.note is not None
    assert "its runs are retold instead" in state.note
    assert "quince" in str(bench.model.requests[-1].body)


@of_gemini
@pytest.mark.parametrize("inherits", ["false, true", "true, false", "true, true"])
async def test_where_gemini_looks_elsewhere_for_its_conversation_the_earlier_run_is_retold(
    inherits: str, agent: str, play: Play
) -> None:
    before, after = inherits.split(", ")
    bench = play(agent, Say("Noted."))
    _log_in_with_the_key(bench)
    bench.profile(f"resumeMode: native\ninherit: {before}")
    first = await bench.run("Remember the quince.", profile="p")
    bench.profile(f"resumeMode: native\ninherit: {after}")
    await assert_is_retold(bench, first)


def _log_in_with_the_key(bench: Bench) -> None:
    """As the user chooses it in gemini itself."""
    settings = bench.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')


@pytest.mark.parametrize(("agent", "can"), [("gemini", False), ("claude", True), ("codex", True), ("opencode", True)])
def test_a_conversation_is_continued_with_the_users_settings_only_if_the_agent_finds_it(agent: str, can: bool) -> None:
    conversation = Conversation("s", {"chat": b'{"type":"gemini","content":"Noted."}'})
    harness = harness_named(agent)
    assert harness.can_continue(conversation, Profile(name="p"))
    assert harness.can_continue(conversation, Profile(name="p", inherit=True)) is can


def test_an_agent_that_begins_anew_instead_of_continuing_is_not_asked_anything() -> None:
    dialogue = AcpDialogue(AGENTS["opencode"], Brief("/lab", "Go.", "old"))
    offers = {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"resume": {}}}}
    events = hear(dialogue, {"id": 1, "result": offers}, {"id": 2, "result": {"sessionId": "new"}})
    (refused,) = those(events, ev.CommandRefused)
    assert refused.message == "The agent began a new conversation instead of continuing the earlier one"
    assert "session/prompt" not in str(replies(dialogue))


def test_what_is_still_told_again_after_the_answer_is_waited_for() -> None:
    dialogue = AcpDialogue(AGENTS["acp"], Brief("/lab", "Go.", "s"))
    hear(dialogue, {"id": 1, "result": {}}, {"id": 2, "result": {}}, chunk("Old."))
    hear(dialogue, {"id": 3, "error": {"code": -32601}}, chunk("Old, too."))
    hear(dialogue, {"id": 4, "error": {"code": -32601}}, {"id": 5, "error": {"code": -32601}})
    methods = [reply["method"] for reply in replies(dialogue)]
    assert methods == ["session/load", *["_pi_subagents/ping"] * 3, "session/prompt"]


# --- logging in ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "login"),
    [
        ("opencode", ".local/share/opencode/auth.json"),
        ("gemini", ".gemini/oauth_creds.json"),
        ("qwen", ".qwen/oauth_creds.json"),
    ],
)
def test_a_login_is_lent_by_a_link_and_a_key_only_in_the_environment(agent: str, login: str, tmp_path: Path) -> None:
    file = tmp_path / login
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    place = Place(tmp_path, tmp_path, {"HOME": str(tmp_path), "PATH": ""})
    harness = harness_named(agent)
    assert harness.credentials(place) == "logged in"
    launch = Launch(Program(("x",), "test"), "Go.", tmp_path, tmp_path / "run", place, place.environ)
    links = [one for one in harness.invocation(launch).files if one.link_to]
    assert [one.link_to for one in links] == [file]
    assert links[0].name.startswith(f"{AGENT_HOME}/")
    keyed = msgspec.structs.replace(launch, profile=Profile(name="p", model="offline/scripted", api_key=Secret(KEY)))
    invocation = harness.invocation(keyed)
    assert KEY not in str((invocation.argv, invocation.files, invocation.brief))
    assert KEY in invocation.secrets
    assert KEY in invocation.environ.values()
    assert not [one for one in invocation.files if one.link_to]


@of_opencode
@pytest.mark.parametrize("inherit", ["false", "true"])
async def test_a_profiles_key_reaches_its_provider_whatever_else_there_is(inherit: str, agent: str, play: Play) -> None:
    bench = play(agent, Say("Done."))
    login = bench.home / ".local" / "share" / "opencode" / "auth.json"
    login.parent.mkdir(parents=True)
    login.write_text('{"offline": {"type": "api", "key": "sk-of-the-login"}}')
    bench.profile(f"model: offline/scripted\napiKey: sk-of-the-profile\ninherit: {inherit}")
    result = await bench.run(profile="p")
    assert result.output == "Done."
    assert bench.model.requests[0].authorization == "Bearer sk-of-the-profile"
    assert not files_with(result.run_dir, "sk-of-the-profile")


@pytest.mark.parametrize(
    ("agent", "variables", "found"),
    [
        ("opencode", {"OPENCODE_CONFIG_CONTENT": '{"provider": {}}'}, "provider set in OPENCODE_CONFIG_CONTENT"),
        ("opencode", {"OPENCODE_CONFIG_CONTENT": '{"theme": "x"}'}, None),
        ("copilot", {"COPILOT_PROVIDER_BASE_URL": "http://x"}, "provider set in COPILOT_PROVIDER_BASE_URL"),
        ("copilot", {"GH_TOKEN": "t"}, "key in GH_TOKEN"),
        ("copilot", {}, None),
    ],
)
def test_only_a_key_is_called_a_key(agent: str, variables: dict[str, str], found: str | None, tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path, {"HOME": str(tmp_path), **variables})
    assert harness_named(agent).credentials(place) == found


@pytest.mark.parametrize(
    ("variables", "variable"),
    [({}, "COPILOT_GITHUB_TOKEN"), ({"COPILOT_PROVIDER_BASE_URL": "http://x"}, "COPILOT_PROVIDER_API_KEY")],
)
def test_a_key_for_copilot_goes_to_whom_it_asks(variables: dict[str, str], variable: str, tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path, {"HOME": str(tmp_path), "PATH": "", **variables})
    profile = Profile(name="p", api_key=Secret(KEY))
    launch = Launch(Program(("x",), "test"), "Go.", tmp_path, tmp_path / "run", place, place.environ, profile)
    environ = harness_named("copilot").invocation(launch).environ
    assert [name for name, value in environ.items() if value == KEY] == [variable]


@both
def test_the_doctor_asks_it_whether_it_can_run(agent: str, play: Play) -> None:
    bench = play(agent, Say("Never."))
    findings = {finding.check: finding for finding in diagnose(bench.place, harness_named(agent))}
    assert findings[agent].ok
    assert not bench.model.requests


@of_opencode
async def test_any_program_that_speaks_it_can_be_named_in_a_profile(agent: str, play: Play) -> None:
    bench = play(agent, Say("Done."))
    bench.agent = "acp"
    bench.profile(f"program: [{PROGRAMS['opencode']}]\nextraArgs: [acp]\nmodel: offline/scripted\nmode: plan")
    result = await bench.run(profile="p")
    assert (result.status, result.output) == (Status.COMPLETED, "Done.")
