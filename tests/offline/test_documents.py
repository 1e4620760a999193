"""An answer in one document, for a client that asks for no stream: the same turn."""

from __future__ import annotations

import http.client
import json
from dataclasses import replace
from typing import Any

import pytest

from pi_subagents.offline import Call, CutStream, Hang, OfflineModel, Say, Script, Turn, Usage
from tests.offline.client import WAIT_S, connect
from tests.offline.dialects import CHAT, GEMINI, MESSAGES, RESPONSES, Dialect

UNSTREAMED = replace(GEMINI, path="/v1beta/models/scripted:generateContent")
every_dialect = pytest.mark.parametrize(
    "dialect", [CHAT, MESSAGES, RESPONSES, UNSTREAMED], ids=lambda dialect: dialect.name
)
TURN = Turn("Looking around.", (Call("ls", {"path": "src"}),), "hmm", usage=Usage(1000, 50, cached_tokens=200))
Heard = tuple[str, str, tuple[str, Any], tuple[int, int, int]]


def heard(dialect: Dialect, body: bytes) -> Heard:
    """Thinking, text, the call, and the figures of a document."""
    said: dict[str, Any] = json.loads(body)
    return {"chat": _chat, "messages": _messages, "responses": _responses, "gemini": _gemini}[dialect.name](said)


def _chat(said: dict[str, Any]) -> Heard:
    message, usage = said["choices"][0]["message"], said["usage"]
    (call,) = message["tool_calls"]
    function = call["function"]
    figures = usage["prompt_tokens"], usage["completion_tokens"], usage["prompt_tokens_details"]["cached_tokens"]
    named = function["name"], json.loads(function["arguments"])
    return message["reasoning_content"], message["content"], named, figures


def _messages(said: dict[str, Any]) -> Heard:
    thinking, text, call = said["content"]
    usage, read = said["usage"], said["usage"]["cache_read_input_tokens"]
    figures = usage["input_tokens"] + read, usage["output_tokens"], read
    return thinking["thinking"], text["text"], (call["name"], call["input"]), figures


def _responses(said: dict[str, Any]) -> Heard:
    reasoning, message, call = said["output"]
    usage = said["usage"]
    figures = usage["input_tokens"], usage["output_tokens"], usage["input_tokens_details"]["cached_tokens"]
    named = call["name"], json.loads(call["arguments"])
    return reasoning["summary"][0]["text"], message["content"][0]["text"], named, figures


def _gemini(said: dict[str, Any]) -> Heard:
    thought, text, call = said["candidates"][0]["content"]["parts"]
    usage = said["usageMetadata"]
    figures = usage["promptTokenCount"], usage["candidatesTokenCount"], usage["cachedContentTokenCount"]
    assert thought["thought"]
    return thought["text"], text["text"], (call["functionCall"]["name"], call["functionCall"]["args"]), figures


@every_dialect
def test_without_a_stream_the_turn_comes_as_one_document(dialect: Dialect) -> None:
    with OfflineModel(Script().otherwise([TURN])) as model:
        reply = dialect.ask(model, stream=False)
    assert reply.headers["Content-Type"] == "application/json"
    assert heard(dialect, reply.body) == ("hmm", "Looking around.", ("ls", {"path": "src"}), (1000, 50, 200))
    assert not model.requests[0].streams


@every_dialect
def test_a_document_can_break_off(dialect: Dialect) -> None:
    script = Script().otherwise([CutStream("On it")])
    with OfflineModel(script) as model, pytest.raises(http.client.IncompleteRead):
        dialect.ask(model, stream=False)


def test_a_document_can_be_waited_for_in_vain() -> None:
    with OfflineModel(Script().otherwise([Hang("so far")])) as model, connect(model) as connection:
        connection.request("POST", CHAT.path, json.dumps({"messages": []}))
        model.wait_for_requests(1, WAIT_S)
        model.close()
        with pytest.raises(http.client.RemoteDisconnected):
            connection.getresponse()


def test_a_client_that_says_nothing_about_a_stream_gets_a_document() -> None:
    with OfflineModel(Script().otherwise([Say("hi")])) as model, connect(model) as connection:
        connection.request("POST", CHAT.path, json.dumps({"messages": []}))
        assert json.loads(connection.getresponse().read())["choices"][0]["message"]["content"] == "hi"
