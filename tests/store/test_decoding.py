"""Every line of a journal is an event: put right where that can be done, kept where it is unknown, else damage."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pi_subagents.clock import LAST_MS
from pi_subagents.models import Usage
from pi_subagents.models import event as ev
from pi_subagents.models.part import MAX_NESTING
from pi_subagents.store.reading import DAMAGED_BYTES, decode_event

SAID: dict[str, Any] = {"type": "message", "at": 5, "role": "assistant", "parts": [{"type": "text", "text": "Hi"}]}


def decode(record: Any) -> ev.AnyEvent:
    return decode_event(msgspec.json.encode(record) + b"\n")


@pytest.mark.parametrize("at", [-1, -(2**63), LAST_MS + 1, 10**18, 2**63, 10**400, 1e18, -0.5, "soon", None, [], True])
def test_a_time_that_nobody_can_show_is_unknown_and_costs_nothing_else(at: object) -> None:
    expected = int(at is True)
    assert decode(SAID | {"at": at}) == msgspec.json.decode(
        msgspec.json.encode(SAID | {"at": expected}), type=ev.Message
    )
    assert decode({"type": "ended", "at": at, "status": "failed", "reason": "exit"}).at == expected


@pytest.mark.parametrize("at", [0, 1, LAST_MS])
def test_a_time_within_the_calendar_stays(at: int) -> None:
    assert decode(SAID | {"at": at}).at == at


def test_how_long_somebody_waits_is_bounded_too() -> None:
    held = decode({"type": "held_back", "provider": "p", "until": 10**400})
    retry = decode({"type": "retry_started", "delayMs": 10**400, "what": "dance"})
    assert isinstance(held, ev.HeldBack)
    assert isinstance(retry, ev.RetryStarted)
    assert (held.until, retry.delay_ms) == (0, 0)


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"totalTokens": 1.9, "cost": None}, Usage(total_tokens=1)),
        ({"totalTokens": "many", "cost": 1}, Usage(cost=1.0)),
        ({"input": -4, "output": 2**70, "cost": -1.5, "cacheRead": None}, Usage(output=2**53)),
        ([1], None),
        ("free", None),
    ],
)
def test_figures_of_the_wrong_kind_do_not_cost_a_message(usage: object, read: Usage | None) -> None:
    message = decode(SAID | {"usage": usage})
    assert isinstance(message, ev.Message)
    assert (message.text, message.usage) == ("Hi", read)


def test_a_part_of_an_unknown_kind_does_not_cost_the_others() -> None:
    message = decode(SAID | {"parts": [{"type": "audio", "data": "x"}, {"type": "text", "text": "Hi"}, None, 7]})
    assert isinstance(message, ev.Message)
    assert message.parts == (ev.OtherPart("audio"), ev.TextPart("Hi"), ev.OtherPart("None"), ev.OtherPart("None"))


@pytest.mark.parametrize(
    ("fields", "status", "reason"),
    [
        ({"status": "asleep", "reason": "tired"}, "asleep", "tired"),
        ({"status": "failed"}, "failed", "unknown"),
        ({"status": {"word": "over"}, "reason": 7}, "unknown", "unknown"),
        ({}, "unknown", "unknown"),
    ],
)
def test_an_end_is_an_end_however_it_is_put(fields: dict[str, object], status: str, reason: str) -> None:
    ended = decode({"type": "ended", "at": 9} | fields)
    assert isinstance(ended, ev.Ended)
    assert (ended.status, ended.reason, ended.at) == (status, reason, 9)
    assert ended.status.is_terminal


def test_an_event_of_an_unknown_kind_is_kept_as_it_came() -> None:
    line = b'{"type": "from the future", "at": 7, "x": [1, {"y": null}]}'
    event = decode_event(line + b"\n")
    assert event == ev.Unknown(at=7, kind="from the future", record=msgspec.Raw(line), ours=True)
    assert isinstance(event, ev.Unknown)
    assert not event.is_damage


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize("kind", ["call", "start"])
def test_arguments_that_nobody_could_walk_through_are_damage(kind: str) -> None:
    def line(levels: int) -> dict[str, Any]:
        arguments = nested(levels)
        if kind == "start":
            return {"type": "tool_started", "id": "1", "name": "bash", "arguments": arguments}
        return SAID | {"parts": [{"type": "toolCall", "id": "1", "name": "bash", "arguments": arguments}]}

    assert not isinstance(decode(line(MAX_NESTING)), ev.Unknown)
    deep = decode(line(MAX_NESTING + 1))
    assert isinstance(deep, ev.Unknown)
    assert deep.is_damage


def test_many_brackets_alone_are_no_depth() -> None:
    assert decode(SAID | {"parts": [{"type": "text", "text": "[{" * 10_000}]}).at == 5
    flat = {"type": "tool_started", "id": "1", "name": "bash", "arguments": {"edits": [{} for _ in range(1000)]}}
    assert isinstance(decode(flat), ev.ToolStarted)


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"\0" * 100, b"\xff\xfe", b"null", b"7", b"[]", b"{}", b'"x"', b"[" * 100_000, b'{"type":7,"at":1}'),
        *(b'{"type":["created"]}', b'{"type":"exited"}', b'{"type":"created","at":1,"name":5}', b'{"type":"unknown"}'),
        *(b'{"type":"message","role":"user","usage":{"cost":1e999}}', b'{"type":"output","text":"\\ud800"}'),
        *(b'{"type":"started","at":NaN}', b'{"type":"exited","exitCode":' + b"9" * 5000 + b"}"),
    ],
)
def test_what_is_no_event_is_damage(line: bytes) -> None:
    event = decode_event(line + b"\n")
    assert isinstance(event, ev.Unknown)
    assert event.is_damage
    assert msgspec.json.decode(event.record) == (line + b"\n")[:DAMAGED_BYTES].decode("utf-8", "replace")
