"""Every documented record of pi 0.87 and 0.74 becomes its event; whatever else comes is kept, never fatal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.clock import LAST_MS
from pi_subagents.encoding import MAX_NESTING
from pi_subagents.harness import Invocation
from pi_subagents.harness.pi.decoder import NORMALISERS, PiDecoder
from pi_subagents.harness.pi.rpc import PiRpc
from pi_subagents.jsonl import Oversized
from pi_subagents.models import Usage
from pi_subagents.models import event as ev
from tests.harness.documented_records import AT, ODD, ONLY_0_74, ONLY_0_87, ONLY_1_5, SHARED, message, text_message

REPLACED = "\N{REPLACEMENT CHARACTER}"


def decode(record: Any) -> list[ev.AnyEvent]:
    return PiDecoder().decode(record if isinstance(record, bytes) else msgspec.json.encode(record), AT)


@pytest.mark.parametrize(("record", "event"), [*SHARED, *ONLY_1_5, *ODD, *ONLY_0_87, *ONLY_0_74])
def test_a_documented_record_becomes_its_event(record: dict[str, Any], event: ev.AnyEvent | None) -> None:
    assert decode(record) == ([] if event is None else [event])


def test_an_entry_of_an_extension_is_kept_as_it_came() -> None:
    (event,) = decode({"type": "entry_appended", "entry": {"type": "custom", "customType": "x", "data": [1, "é"]}})
    assert isinstance(event, ev.EntryAppended)
    assert msgspec.json.decode(event.entry) == {"type": "custom", "customType": "x", "data": [1, "é"]}


def test_no_kind_of_record_that_is_read_goes_untested() -> None:
    known = {kind.__struct_config__.tag for kind in NORMALISERS}
    rpc_only = {"response", "extension_ui_request"}
    tested = {record["type"] for record, _ in [*SHARED, *ONLY_0_87, *ONLY_0_74]} | {"entry_appended"}
    assert known - rpc_only == tested


@pytest.mark.parametrize(
    "record",
    [
        b'{"type":"novelty","x":[1,2,{"y":null}]}',
        b'{"x":1, "type" : "novelty"}',
        b'{"type":"message_end","message":"a text where an object was"}',
        b'{"type":"tool_execution_start"}',
    ],
)
def test_a_record_of_unknown_kind_or_shape_is_kept_raw(record: bytes) -> None:
    (event,) = decode(record)
    assert isinstance(event, ev.Unknown)
    assert event.kind == msgspec.json.decode(record)["type"]
    assert bytes(event.record) == record


@pytest.mark.parametrize(
    "line", [b"npm warn", b"{", b"[1]", b"null", b'"type"', b'{"type":5}', b'{"type":NaN}', b"\0", b"{" * 100_000]
)
def test_a_line_that_is_no_record_is_kept_as_text(line: bytes) -> None:
    (event,) = decode(line)
    assert event == ev.Output(at=AT, text=line.decode() if len(line) < 100 else event.text)  # type: ignore[union-attr]


def test_a_long_line_that_is_no_record_is_cut() -> None:
    (event,) = decode(b"x" * 100_000)
    assert isinstance(event, ev.Output)
    assert event.text == "x" * 65_536 + "… (100000 characters)"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (rb"a\ud83d", f"a{REPLACED}"),
        (rb"\ude00b", f"{REPLACED}b"),
        (b"a\xffb", f"a{REPLACED}b"),
        (rb"\ud83d\ude00", "😀"),
    ],
)
def test_damaged_text_does_not_cost_a_message(raw: bytes, text: str) -> None:
    frame = msgspec.json.encode(message(role="assistant", content=[{"type": "text", "text": "X"}])).replace(b"X", raw)
    *repaired, said = decode(frame)
    assert said == text_message("assistant", text)
    assert repaired == ([ev.Repaired(at=AT, size=len(frame))] if REPLACED in text else [])


def test_damaged_text_in_a_record_that_says_nothing_new_is_only_noted() -> None:
    assert decode(rb'{"type":"message_start","message":{"role":"user","content":"\ud83d"}}') == [
        ev.Repaired(at=AT, size=69)
    ]


def test_damaged_text_in_an_unknown_record_is_repaired_so_that_the_journal_stays_text() -> None:
    for frame in (b'{"type":"novelty","x":"\xff"}', rb'{"type":"novelty","x":"\ud83d"}'):
        _, event = decode(frame)
        assert isinstance(event, ev.Unknown)
        assert msgspec.json.decode(event.record) == {"type": "novelty", "x": REPLACED}


def test_figures_that_could_not_be_worked_out_do_not_cost_a_message() -> None:
    usage = {"input": None, "output": 2.0, "cacheRead": 1.5, "cost": {"total": None}}
    (event,) = decode(message(role="assistant", content=[{"type": "text", "text": "x"}], usage=usage))
    assert isinstance(event, ev.Message)
    assert event.usage == Usage(output=2, cache_read=1)


def test_the_end_of_a_pass_counts_even_if_its_record_was_too_large() -> None:
    assert decode_oversized(b'{"type":"agent_end","messages":[') == [ev.AgentEnded(at=AT, will_retry=False)]
    assert decode_oversized(b'{"type":"message_end","message":{') == []


def decode_oversized(head: bytes) -> list[ev.AnyEvent]:
    dropped, *others = PiDecoder().decode(Oversized(40_000_000, head), AT)
    assert dropped == ev.Dropped(at=AT, size=40_000_000, head=head.decode())
    return others


@given(st.binary(max_size=200))
def test_no_bytes_make_it_fail(frame: bytes) -> None:
    assert len(PiDecoder().decode(frame, AT)) >= 1


def test_a_dialog_with_damaged_text_is_dismissed_all_the_same() -> None:
    decoder = PiRpc().dialogue(Invocation(("pi",), {}, Path("/"), b""))
    frame = rb'{"type":"extension_ui_request","id":"7","method":"confirm","title":"Delete \ud83d?"}'
    assert isinstance(decoder.decode(frame, AT)[-1], ev.DialogDismissed)
    assert msgspec.json.decode(decoder.take_replies())["id"] == "7"


@pytest.mark.parametrize(
    ("figure", "tokens", "cost"),
    [(-1, 0, 0.0), (2**63, 2**53, 2.0**53), (1e308, 2**53, 2.0**53), (2**53, 2**53, 2.0**53), (None, 0, 0.0)],
)
def test_figures_are_bounded_where_they_enter(figure: float | None, tokens: int, cost: float) -> None:
    names = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")
    usage = dict.fromkeys(names, figure) | {"cost": {"total": figure}}
    (event,) = decode({"type": "message_end", "message": {"role": "assistant", "content": "Hi", "usage": usage}})
    assert isinstance(event, ev.Message)
    assert event.usage == Usage(tokens, tokens, tokens, tokens, tokens, cost)


@pytest.mark.parametrize(("delay", "kept"), [(-5, 0), (1e308, LAST_MS), (2000, 2000)])
def test_how_long_an_agent_wants_to_wait_is_bounded(delay: float, kept: int) -> None:
    (event,) = decode({"type": "auto_retry_start", "delayMs": delay})
    assert isinstance(event, ev.RetryStarted)
    assert event.delay_ms == kept


def test_arguments_that_nobody_could_walk_through_are_left_out() -> None:
    deep: Any = {}
    for _ in range(MAX_NESTING):
        deep = {"a": deep}
    (event,) = decode({"type": "tool_execution_start", "toolCallId": "1", "toolName": "bash", "args": deep})
    assert isinstance(event, ev.ToolStarted)
    assert event.arguments == {"…": "left out: nested more than 100 levels deep"}
    call = {"type": "toolCall", "id": "1", "name": "bash", "arguments": deep["a"]}
    (said,) = decode({"type": "message_end", "message": {"role": "assistant", "content": [call]}})
    assert isinstance(said, ev.Message)
    assert said.tool_calls[0].arguments == deep["a"]
