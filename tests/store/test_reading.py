"""The journal reads back what was written, and every line of it is an event, whatever happened to the file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.clock import LAST_MS
from pi_subagents.encoding import MAX_NESTING
from pi_subagents.errors import StoreError
from pi_subagents.harness.pi.decoder import PiDecoder
from pi_subagents.models import Reason, Status, Usage
from pi_subagents.models import event as ev
from pi_subagents.store import Journal, read_journal, reading
from pi_subagents.store.reading import DAMAGED_BYTES, JournalTail, decode_event

MESSAGE = ev.Message(
    at=3,
    role="assistant",
    parts=(
        ev.TextPart("héllo\u2028\n\0"),
        ev.ThinkingPart("hm"),
        ev.ToolCallPart("1", "bash", {"command": "ls", "n": [1, None, 2.5, 2**70]}),
        ev.ImagePart("image/png", 7),
    ),
    usage=Usage(1, 2, 3, 4, 10, 0.5),
    stop_reason="toolUse",
)
EVENTS: list[ev.Event] = [
    ev.Created(at=1, run_id="r", session_id="s", name="n", prompt="p", cwd="/", harness="pi-json", timeout_s=600),
    ev.Started(at=2, pid=7, containment="guard"),
    MESSAGE,
    ev.AgentEnded(at=4, will_retry=None),
    ev.StopRequested(at=5, reason=Reason.LOOP, message="Loop detected"),
    ev.Unknown(at=6, kind="novelty", record=msgspec.Raw(b'{"type":"novelty"}')),
    ev.Exited(at=7, exit_code=143),
    ev.Ended(at=8, status=Status.FAILED, reason=Reason.LOOP, message="Loop detected"),
]


def written(path: Path, events: list[ev.Event]) -> Path:
    journal = Journal(path)
    journal.append(events)
    journal.sync()
    journal.close()
    return path


def test_every_event_reads_back_as_it_was(tmp_path: Path) -> None:
    assert list(read_journal(written(tmp_path / "j", EVENTS))) == EVENTS


def test_appending_goes_on_where_the_file_ends(tmp_path: Path) -> None:
    for event in EVENTS:
        written(tmp_path / "j", [event])
    assert list(read_journal(tmp_path / "j")) == EVENTS
    assert (tmp_path / "j").stat().st_mode & 0o777 == 0o600


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "j", EVENTS)
    whole = path.read_bytes()
    last = whole[:-1].rindex(b"\n") + 1
    for cut in (last + 1, last + 10, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert list(read_journal(path)) == EVENTS[:-1]


@pytest.mark.parametrize("damage", [b"\0" * 100, b"\xff\xfe", b"{}", b'{"type":"from the future","at":1}'])
def test_a_damaged_line_is_kept_as_unknown_and_hides_nothing(damage: bytes, tmp_path: Path) -> None:
    path = written(tmp_path / "j", EVENTS[:2])
    path.write_bytes(path.read_bytes() + damage + b"\n")
    written(path, EVENTS[2:])
    read = list(read_journal(path))
    assert [*read[:2], *read[3:]] == EVENTS
    assert isinstance(read[2], ev.Unknown)


def test_a_journal_that_cannot_be_written_says_which_and_why(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot open the journal .*/no/j: No such file or directory"):
        Journal(tmp_path / "no" / "j")
    journal = Journal(Path("/dev/full"))
    with pytest.raises(StoreError, match="cannot write the journal /dev/full: No space left on device"):
        journal.append(EVENTS)
    journal.close()


def test_closing_twice_closes_nothing_of_somebody_else(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.close()
    others = os.open(tmp_path / "j", os.O_RDONLY)
    journal.close()
    os.fstat(others)
    os.close(others)


records = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.binary(max_size=300)
    | st.builds(
        lambda kind, rest: json.dumps({"type": kind, **rest}).encode(),  # half of a surrogate pair as well, and NaN
        st.sampled_from(["message_end", "entry_appended", "tool_execution_start", "turn_end", "novelty"]),
        st.dictionaries(st.sampled_from(["message", "entry", "args", "toolCallId", "toolName"]), records),
    )
)
def test_whatever_an_agent_prints_can_be_journalled_and_read_back(
    tmp_path_factory: pytest.TempPathFactory, frame: bytes
) -> None:
    events: list[ev.Event] = list(PiDecoder().decode(frame, 5))
    path = tmp_path_factory.getbasetemp() / "project" / "runs" / "run" / "journal"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    read = list(read_journal(written(path, events)))
    assert read == events
    path.read_bytes().decode()


def test_every_kind_of_event_has_a_tag_of_its_own() -> None:
    tags = [kind.__struct_config__.tag for kind in get_args(ev.AnyEvent)]
    assert len(set(tags)) == len(tags)


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


# --- lines that are too long take little memory to find out ------------------------------------------------------


MEBI = 1024 * 1024
SETTLED_LINE, EXITED_LINE = b'{"type":"agent_settled"}\n', b'{"type":"exited","exitCode":0}\n'


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A journal for which a mebibyte is too long for a line."""
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", MEBI)
    monkeypatch.setattr(reading, "_PIECE_BYTES", MEBI // 4)
    monkeypatch.setattr(reading, "_MAX_PIECES", 4)
    return tmp_path / "events.jsonl"


def kinds(events: list[ev.AnyEvent]) -> list[str]:
    assert all(len(event.record) < MEBI for event in events if isinstance(event, ev.Unknown))
    return [event.kind if isinstance(event, ev.Unknown) else type(event).__name__ for event in events]


def read_tail(path: Path) -> list[ev.AnyEvent]:
    tail, events = JournalTail(path), list[ev.AnyEvent]()
    while not tail.at_end:
        events += tail.read()
    return events


@pytest.mark.parametrize("size", [MEBI, MEBI + 1, 2 * MEBI - 1, 2 * MEBI, 2 * MEBI + 1, 7 * MEBI])
def test_a_line_longer_than_any_event_is_told_as_damaged_once_and_what_follows_is_read(path: Path, size: int) -> None:
    path.write_bytes(SETTLED_LINE + b"x" * size + b"\n" + EXITED_LINE)
    expected = ["AgentSettled", "damaged", "Exited"]
    assert kinds(list(read_journal(path))) == expected
    assert kinds(read_tail(path)) == expected


def test_several_of_them_are_told_one_by_one_and_none_that_is_not_complete(path: Path) -> None:
    path.write_bytes((b"x" * 3 * MEBI + b"\n") * 2 + EXITED_LINE)
    assert kinds(list(read_journal(path))) == ["damaged", "damaged", "Exited"]
    assert kinds(read_tail(path)) == ["damaged", "damaged", "Exited"]
    path.write_bytes(SETTLED_LINE + b"x" * 3 * MEBI)
    assert kinds(list(read_journal(path))) == ["AgentSettled"]


def test_a_hole_is_passed_over_however_long_it_is(path: Path) -> None:
    path.write_bytes(SETTLED_LINE)
    os.truncate(path, 1 << 40)
    with path.open("ab") as file:
        file.write(b"\n" + EXITED_LINE)
    expected = ["AgentSettled", "damaged", "Exited"]
    assert kinds(list(read_journal(path))) == expected
    assert kinds(read_tail(path)) == expected
    os.truncate(path, 1 << 41)
    assert kinds(list(read_journal(path))) == expected
