"""What the offline model remembers of the requests it got."""

from __future__ import annotations

import threading
import time

import pytest

from pi_subagents.offline import OfflineModel, Say, Script, ToolResult
from tests.offline.client import WAIT_S, ask, assistant, connect, payload, receive, request_of, send, tool_result, user


def test_plain_string_contents_are_read_as_well() -> None:
    assert request_of({"role": "user", "content": "plain"}).first_user_text == "plain"


def test_odd_arguments_of_a_call_do_not_hide_its_result() -> None:
    call = {"id": "c1", "function": {"name": "ls", "arguments": '{"path": '}}
    request = request_of(user("x"), assistant("", [call]), tool_result("c1", "a.py"))
    assert request.tool_results == (ToolResult("c1", "ls", {}, "a.py"),)


def test_key_and_headers_are_recorded_with_lower_case_names() -> None:
    with OfflineModel(Script()) as model, connect(model) as connection:
        send(connection, payload([user("x")]), {"Authorization": "Bearer secret", "X-Extra": "Yes"})
        receive(connection)
        request = model.requests[0]
    assert request.authorization == "Bearer secret"
    assert request.headers["x-extra"] == "Yes"


def test_requests_are_kept_in_order_of_arrival_and_after_the_end() -> None:
    with OfflineModel(Script()) as model:
        for text in ("one", "two"):
            ask(model, user(text))
    first, second = model.requests
    assert (first.first_user_text, second.first_user_text) == ("one", "two")
    assert first.arrived_at_s <= second.arrived_at_s


def test_the_list_of_requests_is_a_copy() -> None:
    with OfflineModel(Script()) as model:
        ask(model, user("one"))
        model.requests.clear()
        assert len(model.requests) == 1


def test_waiting_for_requests_ends_when_they_have_arrived() -> None:
    with OfflineModel(Script().otherwise([Say("ok")])) as model:
        asker = threading.Thread(target=lambda: [ask(model, user(text)) for text in "ab"])
        started = time.monotonic()
        asker.start()
        assert [request.first_user_text for request in model.wait_for_requests(2, 2 * WAIT_S)] == ["a", "b"]
        assert time.monotonic() - started < 2 * WAIT_S
        asker.join()


def test_waiting_for_requests_in_vain_says_how_many_came() -> None:
    with OfflineModel(Script()) as model:
        ask(model, user("one"))
        with pytest.raises(TimeoutError, match="1 of 2 requests"):
            model.wait_for_requests(2, timeout_s=0.01)
