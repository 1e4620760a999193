"""A line that is longer than any event is damage like any other, and takes little memory to find out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi_subagents.models import event as ev
from pi_subagents.store import read_journal, reading
from pi_subagents.store.reading import JournalTail

MEBI = 1024 * 1024
SETTLED, EXITED = b'{"type":"agent_settled"}\n', b'{"type":"exited","exitCode":0}\n'


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
def test_it_is_told_as_damaged_once_and_what_follows_is_read(path: Path, size: int) -> None:
    path.write_bytes(SETTLED + b"x" * size + b"\n" + EXITED)
    expected = ["AgentSettled", "damaged", "Exited"]
    assert kinds(list(read_journal(path))) == expected
    assert kinds(read_tail(path)) == expected


def test_several_of_them_are_told_one_by_one(path: Path) -> None:
    path.write_bytes((b"x" * 3 * MEBI + b"\n") * 2 + EXITED)
    assert kinds(list(read_journal(path))) == ["damaged", "damaged", "Exited"]
    assert kinds(read_tail(path)) == ["damaged", "damaged", "Exited"]


def test_one_that_is_not_complete_is_not_told(path: Path) -> None:
    path.write_bytes(SETTLED + b"x" * 3 * MEBI)
    assert kinds(list(read_journal(path))) == ["AgentSettled"]


def test_a_hole_in_a_journal_does_not_fill_the_memory(path: Path) -> None:
    path.write_bytes(SETTLED)
    os.truncate(path, 500_000_000)
    with path.open("ab") as file:
        file.write(b"\n" + EXITED)
    assert kinds(list(read_journal(path))) == ["AgentSettled", "damaged", "Exited"]


def test_a_hole_is_passed_over_however_long_it_is(path: Path) -> None:
    path.write_bytes(SETTLED)
    os.truncate(path, 1 << 40)
    with path.open("ab") as file:
        file.write(b"\n" + EXITED)
    expected = ["AgentSettled", "damaged", "Exited"]
    assert kinds(list(read_journal(path))) == expected
    assert kinds(read_tail(path)) == expected
    os.truncate(path, 1 << 41)
    assert kinds(list(read_journal(path))) == expected
