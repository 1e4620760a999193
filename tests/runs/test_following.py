"""A run followed from outside: every event once, and an end that is true whoever dies."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pi_subagents.errors import StoreError
from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.outcome import LOST_SENTENCE, ending
from pi_subagents.runs.live import POLL_S, follow_run
from pi_subagents.store import JOURNAL_FILE
from tests.kit.sessions import Kept, Shelf, says


def follow(kept: Kept, *steps: Callable[[], None]) -> list[ev.AnyEvent]:
    """Follow a run; each time the follower pauses, the next thing happens to it."""
    waiting = list(steps)

    def pause(seconds: float) -> None:
        assert seconds == POLL_S
        waiting.pop(0)()

    events = list(follow_run(kept.run_dir, pause))
    assert not waiting
    return events


def test_events_come_as_they_are_written_until_the_end(shelf: Shelf) -> None:
    kept = shelf.add(says("One"), ends=None)
    events = follow(
        kept,
        lambda: kept.append(says("Two")),
        lambda: None,
        lambda: kept.append(says("Three"), ending(Reason.SETTLED, None, 5)),
    )
    assert [event.text for event in events if isinstance(event, ev.Message)] == ["One", "Two", "Three"]
    assert isinstance(events[-1], ev.Ended)


def test_it_looks_at_most_four_times_a_second() -> None:
    assert POLL_S >= 0.25


def test_a_finished_run_is_told_without_waiting(shelf: Shelf) -> None:
    events = follow(shelf.add(says("One")))
    assert isinstance(events[-1], ev.Ended)


def test_a_line_that_is_half_written_waits_for_its_rest(shelf: Shelf) -> None:
    kept = shelf.add(ends=None)
    journal = kept.run_dir / JOURNAL_FILE

    def write(data: bytes) -> Callable[[], None]:
        def step() -> None:
            with journal.open("ab") as file:
                file.write(data)

        return step

    line = b'{"type":"stderr","text":"caf\xc3\xa9"}\n'
    events = follow(kept, write(line[:24]), write(line[24:]), lambda: kept.append(ending(Reason.SETTLED, None, 5)))
    assert [event.text for event in events if isinstance(event, ev.Stderr)] == ["café"]


def test_the_death_of_the_holder_is_noticed_and_told(shelf: Shelf) -> None:
    kept = shelf.add(says("One"), ends=None)
    end = follow(kept, kept.let_go)[-1]
    assert isinstance(end, ev.Ended)
    assert (end.reason, end.message) == (Reason.LOST, LOST_SENTENCE)


@pytest.mark.parametrize("size", [500, 9_000_000])
def test_a_torn_last_line_of_a_dead_holder_does_not_hide_the_end(shelf: Shelf, size: int) -> None:
    kept = shelf.add(says("One"), ends=None)

    def tear_and_die() -> None:
        with (kept.run_dir / JOURNAL_FILE).open("ab") as journal:
            journal.write(b'{"type":"stderr","text":"' + b"x" * size)
        kept.let_go()

    assert [type(event) for event in follow(kept, tear_and_die)[-2:]] == [ev.Message, ev.Ended]


def test_an_end_that_cannot_be_recorded_is_told_all_the_same(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    from pi_subagents.store import reading

    def read_only(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(reading, "_cut_torn_line", read_only)
    kept = shelf.add(says("One"), ends=None)
    end = follow(kept, kept.let_go)[-1]
    assert isinstance(end, ev.Ended)
    assert (end.status, end.reason) == ("failed", Reason.LOST)


def test_a_journal_of_many_megabytes_is_read_at_once(shelf: Shelf) -> None:
    big = "x" * 1_500_000
    kept = shelf.add(*(says(big) for _ in range(8)), says("y" * 9_000_000))
    assert len([event for event in follow(kept) if isinstance(event, ev.Message)]) == 9


def test_a_run_of_which_nobody_can_tell_who_holds_it_is_a_sentence(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_run: object) -> bool:
        raise PermissionError(13, "Permission denied")

    kept = shelf.add(says("One"))
    monkeypatch.setattr("pi_subagents.store.lease.has_holder", refuse)
    with pytest.raises(StoreError, match="cannot tell who holds the run"):
        follow(kept)
