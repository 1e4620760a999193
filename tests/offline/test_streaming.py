"""What an agent receives when the script has an answer for it."""

from __future__ import annotations

import json
import time

import pytest

from pi_subagents.offline import Attempts, Call, Fail, OfflineModel, Request, Say, Script, Turn
from pi_subagents.offline.protocol import MAX_GUESSED_PROMPT_TOKENS, ChatCompletions
from tests.offline.client import Reply, ask, assistant, connect, payload, receive, request_of, send, user


def play(turn: Turn | Say | Call) -> Reply:
    with OfflineModel(Script().otherwise([turn])) as model:
        return ask(model, user("hello"))


def test_text_arrives_in_as_many_pieces_as_the_script_says_and_loses_nothing() -> None:
    reply = play(Turn("The quick brown fox", chunks=5))
    pieces = [delta["content"] for delta in reply.deltas if delta.get("content")]
    assert len(pieces) == 5
    assert "".join(pieces) == "The quick brown fox"
    assert reply.finish_reason == "stop"
    assert play(Turn("ab", chunks=50)).text == "ab"


def test_the_stream_is_server_sent_events_with_an_end_marker() -> None:
    reply = play(Say("hi"))
    assert reply.headers["Content-Type"] == "text/event-stream"
    assert reply.body.endswith(b"data: [DONE]\n\n")
    assert {event["object"] for event in reply.events} == {"chat.completion.chunk"}


def test_thinking_comes_before_the_text_in_its_own_field() -> None:
    deltas = play(Turn("answer", thinking="hmm, well", chunks=3)).deltas
    kinds = [next(iter(delta)) for delta in deltas if delta.get("content") or "reasoning_content" in delta]
    assert kinds == ["reasoning_content"] * 3 + ["content"] * 3
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "hmm, well"


def test_call_ids_are_never_used_twice_in_a_conversation() -> None:
    with OfflineModel(Script().otherwise([Call("ls"), Call("ls")])) as model:
        first = ask(model, user("go")).calls
        second = ask(model, user("go"), assistant("", first)).calls
    assert first[0]["id"] != second[0]["id"]


def test_usage_is_guessed_from_the_lengths_of_request_and_answer() -> None:
    short, long = play(Say("x")).usage, play(Say("x" * 4000)).usage
    assert short["completion_tokens"] == 1
    assert long["completion_tokens"] == 1000
    assert short["prompt_tokens"] == len(payload([user("hello")])) // 4


def test_a_huge_request_is_taken_and_its_guessed_usage_provokes_no_compaction() -> None:
    text = "x" * 12_000_000
    with OfflineModel(Script().otherwise([Say("taken")])) as model:
        reply = ask(model, user(text))
        assert model.requests[0].first_user_text == text
    assert reply.text == "taken"
    assert reply.usage["prompt_tokens"] == MAX_GUESSED_PROMPT_TOKENS


def test_an_answer_can_be_composed_from_the_request() -> None:
    def compose(request: Request) -> Say:
        return Say(f"You said {request.last_user_text!r}.")

    with OfflineModel(Script().otherwise([compose])) as model:
        assert ask(model, user("good morning")).text == "You said 'good morning'."


def test_the_answer_waits_as_long_as_the_script_says() -> None:
    started = time.monotonic()
    play(Turn("x", delay_s=0.1))
    assert time.monotonic() - started >= 0.1


def test_pauses_stand_before_the_first_event_and_before_each_piece() -> None:
    turn = Turn("abc", (Call("ls"),), "de", delay_s=2.0, chunks=3, chunk_delay_s=0.5)
    pauses = [frame.pause_s for frame in ChatCompletions().turn(turn, request_of(user("x")))]
    assert pauses[:6] == [2.0, 0.5, 0.5, 0.5, 0.5, 0.5]
    assert not any(pauses[6:])


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unknown_address_is_not_found(method: str) -> None:
    with OfflineModel(Script()) as model, connect(model) as connection:
        connection.request(method, "/v1/embeddings", b"{}")
        assert receive(connection).status == 404


def test_the_models_address_lists_the_model() -> None:
    with OfflineModel(Script(), model_id="other") as model, connect(model) as connection:
        connection.request("GET", "/v1/models")
        listed = json.loads(receive(connection).body)
    assert [entry["id"] for entry in listed["data"]] == ["other"]


def test_one_connection_serves_many_requests_also_after_an_error() -> None:
    script = Script().otherwise([Attempts(Fail(429), Say("one")), Say("two")])
    with OfflineModel(script) as model, connect(model) as connection:
        send(connection, payload([user("x")]))
        assert receive(connection).status == 429
        socket_used = connection.sock
        for history, text in (([], "one"), ([assistant("one")], "two")):
            send(connection, payload([user("x"), *history]))
            assert receive(connection).text == text
        assert connection.sock is socket_used is not None
