"""A script means the same to every client, whichever provider's protocol it speaks."""

from __future__ import annotations

import http.client
import json

import pytest

from pi_subagents.offline import Attempts, Call, CutStream, Fail, OfflineModel, Say, Script, ToolResult, Turn, Usage
from tests.offline.client import connect, receive
from tests.offline.dialects import CHAT, GEMINI, MESSAGES, RESPONSES, Dialect, Told, events_in

every_dialect = pytest.mark.parametrize(
    "dialect", [CHAT, MESSAGES, RESPONSES, GEMINI], ids=lambda dialect: dialect.name
)
_SESSION_HEADERS = {MESSAGES: "X-Claude-Code-Session-Id", RESPONSES: "session-id"}
LOOKED = Told("call_0_0", "ls", '{"path": "src"}', "a.py")


@every_dialect
def test_a_request_shows_the_same_parts_by_name(dialect: Dialect) -> None:
    with OfflineModel(Script()) as model:
        dialect.ask(model, told=[LOOKED, Told("call_1_0", "mcp__pi__go", "{}", "gone")])
    (request,) = model.requests
    assert (request.model, request.step, request.tools) == ("scripted", 2, ("ls", "mcp__pi__go"))
    assert request.system_text.startswith("You are a scout.")
    assert request.first_user_text.endswith("look around")
    assert request.last_user_text == "and now?"
    assert request.tool_results == (
        ToolResult("call_0_0", "ls", {"path": "src"}, "a.py"),
        ToolResult("call_1_0", "mcp__pi__go", {}, "gone"),
    )


@every_dialect
def test_thinking_text_calls_and_usage_of_a_turn_arrive_complete(dialect: Dialect) -> None:
    calls = (Call("ls", {"path": "ü"}), Call("mcp__pi__go"))
    turn = Turn("Looking around.", calls, "hmm, well", chunks=4, usage=Usage(1000, 50, cached_tokens=200))
    with OfflineModel(Script().otherwise([turn])) as model:
        reply = dialect.ask(model)
    assert reply.headers["Content-Type"] == "text/event-stream"
    heard = dialect.hear(events_in(reply.body))
    assert (heard.thinking, heard.text) == ("hmm, well", "Looking around.")
    told = [(call_id, name, json.loads(arguments)) for call_id, name, arguments in heard.calls]
    assert told == [("call_0_0", "ls", {"path": "ü"}), ("call_0_1", "mcp__pi__go", {})]
    assert (heard.usage, heard.ended) == ((1000, 50, 200), "calls")


@every_dialect
def test_a_conversation_goes_from_step_to_step(dialect: Dialect) -> None:
    with OfflineModel(Script().when("look around", [Call("ls"), Say("All seen.")])) as model:
        ((call_id, name, arguments),) = dialect.hear(events_in(dialect.ask(model).body)).calls
        told = [Told(call_id, name, arguments, "a.py")]
        last = dialect.hear(events_in(dialect.ask(model, told=told).body))
    assert (last.text, last.ended) == ("All seen.", "done")


@every_dialect
def test_a_failure_reaches_the_client_and_another_session_has_its_own_attempts(dialect: Dialect) -> None:
    script = Script().otherwise([Attempts(Fail(429, "slow down", retry_after_s=7), Say("fine"))])
    header = _SESSION_HEADERS.get(dialect, "X-Session-Affinity")
    with OfflineModel(script) as model:
        replies = [dialect.ask(model, headers={header: session}) for session in ("one", "two", "one")]
    assert [reply.status for reply in replies] == [429, 429, 200]
    assert replies[0].headers["Retry-After"] == "7"
    error = json.loads(replies[0].body)["error"]
    kind = error["status"] if dialect is GEMINI else error["type"]
    assert (kind, error["message"]) == ("RESOURCE_EXHAUSTED" if dialect is GEMINI else "rate_limit_error", "slow down")


@every_dialect
def test_a_stream_is_cut_in_the_middle_of_a_call(dialect: Dialect) -> None:
    script = Script().otherwise([CutStream("On it", Call("ls", {"path": "src"}))])
    with OfflineModel(script) as model, pytest.raises(http.client.IncompleteRead) as cut:
        dialect.ask(model)
    heard = dialect.hear(events_in(cut.value.partial))
    assert (heard.text, heard.ended) == ("On it", None)
    if dialect is not GEMINI:  # its calls come as a whole or not at all
        ((_, name, arguments),) = heard.calls
        assert name == "ls"
        assert '{"path": "src"}'.startswith(arguments)
        assert 0 < len(arguments) < len('{"path": "src"}')


@pytest.mark.parametrize(
    ("path", "body", "complaint"),
    [
        (CHAT.path, "not json", "not JSON"),
        (CHAT.path, "[]", "messages"),
        (CHAT.path, '{"stream": true, "messages": [{}]}', "role"),
        (MESSAGES.path, '{"stream": true}', "messages"),
        (RESPONSES.path, '{"stream": true, "input": 1}', "input"),
        (GEMINI.path, '{"contents": 1}', "contents"),
    ],
)
def test_what_is_no_request_of_the_protocol_is_refused_with_a_reason(path: str, body: str, complaint: str) -> None:
    with OfflineModel(Script()) as model, connect(model) as connection:
        connection.request("POST", path, body)
        reply = receive(connection)
    assert (reply.status, model.requests) == (400, [])
    assert complaint in json.loads(reply.body)["error"]["message"]


def test_a_plain_text_is_input_enough() -> None:
    with OfflineModel(Script().when("hello", [Say("hi")])) as model, connect(model) as connection:
        connection.request("POST", "/v1/responses", json.dumps({"stream": True, "input": "hello"}))
        assert RESPONSES.hear(events_in(receive(connection).body)).text == "hi"


def test_the_key_is_recorded_wherever_a_client_puts_it() -> None:
    with OfflineModel(Script()) as model:
        MESSAGES.ask(model, headers={"X-Api-Key": "secret"})
        GEMINI.ask(model, headers={"X-Goog-Api-Key": "other"})
    assert [request.authorization for request in model.requests] == ["secret", "other"]


def test_questions_beside_a_conversation_are_answered_and_no_part_of_it() -> None:
    with OfflineModel(Script()) as model, connect(model) as connection:
        connection.request("POST", "/v1/messages/count_tokens", json.dumps({"messages": [], "x": "y" * 400}))
        counted = json.loads(receive(connection).body)
        connection.request("POST", "/v1beta/models/scripted:countTokens", json.dumps({"contents": [], "x": "y" * 400}))
        assert 100 < json.loads(receive(connection).body)["totalTokens"] < 120
        connection.request("HEAD", "/")
        assert receive(connection).status == 200
    assert 100 < counted["input_tokens"] < 120
    assert model.requests == []
