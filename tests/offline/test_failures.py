"""Failures that a script asks for, and those that it did not ask for."""

from __future__ import annotations

import http.client
import json
from typing import NoReturn

import pytest

from pi_subagents.offline import CutStream, Fail, Hang, OfflineModel, Request, Script, Turn
from tests.kit.waiting import until
from tests.offline.client import WAIT_S, Reply, ask, connect, payload, send, user


def explode(request: Request) -> NoReturn:
    raise LookupError("no such scene")


def test_a_failure_has_the_providers_form() -> None:
    with OfflineModel(Script().otherwise([Fail(500, "boom")])) as model:
        reply = ask(model, user("x"))
    assert reply.status == 500
    assert json.loads(reply.body)["error"]["message"] == "boom"
    assert "Retry-After" not in reply.headers


def test_a_cut_stream_ends_in_the_middle_without_a_reason() -> None:
    with OfflineModel(Script().otherwise([CutStream("half an ans")])) as model, connect(model) as connection:
        send(connection, payload([user("x")]))
        response = connection.getresponse()
        with pytest.raises(http.client.IncompleteRead) as cut:
            response.read()
        assert model.errors == []
    reply = Reply(response.status, {}, cut.value.partial)
    assert (reply.status, reply.text, reply.finish_reason) == (200, "half an ans", None)
    assert b"[DONE]" not in reply.body


def test_a_hanging_answer_sends_not_even_headers() -> None:
    with OfflineModel(Script().otherwise([Hang()])) as model, connect(model) as connection:
        send(connection, payload([user("x")]))
        model.wait_for_requests(1, WAIT_S)
        model.close()
        with pytest.raises(http.client.RemoteDisconnected):
            connection.getresponse()


def test_an_answer_can_hang_after_some_text() -> None:
    with OfflineModel(Script().otherwise([Hang("so far")])) as model, connect(model) as connection:
        send(connection, payload([user("x")]))
        response = connection.getresponse()
        first = response.read1()
        model.close()
        with pytest.raises(http.client.IncompleteRead):
            response.read()
    assert Reply(200, {}, first).text == "so far"


@pytest.mark.parametrize(
    "answer", [Hang(), Turn("x", delay_s=2 * WAIT_S), Turn("abc", chunks=3, chunk_delay_s=2 * WAIT_S)]
)
def test_a_client_that_leaves_frees_its_thread_and_nothing_is_printed(
    answer: Hang | Turn, capfd: pytest.CaptureFixture[str]
) -> None:
    with OfflineModel(Script().otherwise([answer])) as model:
        with connect(model) as connection:
            send(connection, payload([user("x")]))
            model.wait_for_requests(1, WAIT_S)
        assert model.wait_until_idle(WAIT_S)
        assert model.errors == []
    assert capfd.readouterr() == ("", "")


def test_a_client_that_leaves_a_flood_unread_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    with OfflineModel(Script().otherwise([Turn("x" * 30_000_000, chunks=300)])) as model:
        with connect(model) as connection:
            send(connection, payload([user("x")]))
            connection.getresponse().read1(1)
        assert model.wait_until_idle(WAIT_S)
        assert model.errors == []
    assert capfd.readouterr() == ("", "")


def ask_in_vain(model: OfflineModel) -> Reply:
    """The agent hears of a mistake first; when this returns, so has the model."""
    reply = ask(model, user("x"))
    until(lambda: model.errors)
    return reply


def test_a_mistake_in_the_script_reaches_the_agent_and_the_author(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ExceptionGroup) as raised, OfflineModel(Script().otherwise([explode])) as model:
        reply = ask_in_vain(model)
    assert reply.status == 400
    assert "no such scene" in json.loads(reply.body)["error"]["message"]
    assert isinstance(raised.value.exceptions[0], LookupError)
    assert capfd.readouterr() == ("", "")


def test_a_mistake_in_the_script_does_not_hide_the_error_of_the_block() -> None:
    def stumble() -> None:
        with OfflineModel(Script().otherwise([explode])) as model:
            ask(model, user("x"))
            raise KeyError("the real trouble")

    with pytest.raises(KeyError, match="the real trouble"):
        stumble()
