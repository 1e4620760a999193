"""Calls stand with their results, and nothing waits for ever for a result that does not come."""

from __future__ import annotations

from collections.abc import Iterator

from pi_subagents.export import Called, Conversation, Entry, Noticed, Returned, Said
from pi_subagents.export.pairing import paired
from tests.export.kit import entries_of, html_of
from tests.kit.sessions import call, returns, run_of, says


def calls(count: int) -> list[Called]:
    return [Called(str(number), "bash", f"bash {number}", {"command": str(number)}) for number in range(count)]


def test_what_happens_between_a_call_and_its_result_stands_behind_both() -> None:
    (made,) = calls(1)
    result = Returned("bash", "ok", made)
    entries = list(paired([Said("a"), made, Noticed("meanwhile"), result, Said("b")]))
    assert [placed.entry for placed in entries] == [Said("a"), made, Noticed("meanwhile"), Said("b")]
    assert [placed.number for placed in entries] == [0, 1, 2, 4]
    assert entries[1].result is result


def test_a_call_without_a_result_is_told_at_the_end() -> None:
    first, second = calls(2)
    entries = list(paired([first, second, Returned("bash", "ok", second), Said("b")]))
    assert [(placed.entry, placed.result is not None) for placed in entries] == [
        (first, False),
        (second, True),
        (Said("b"), False),
    ]


def test_a_result_that_comes_much_later_stands_where_it_came() -> None:
    (made,) = calls(1)
    late = Returned("bash", "at last", made)
    entries = list(paired([made, *[Said("x" * 1_000_000)] * 8, late]))
    assert (entries[0].entry, entries[0].result) == (made, None)
    assert entries[-1].entry is late


def test_entries_wait_for_a_result_only_within_bounds() -> None:
    taken: list[Entry] = []

    def many() -> Iterator[Entry]:
        entries: list[Entry] = [*calls(1), *[Noticed("x")] * 5000]
        for entry in entries:
            taken.append(entry)
            yield entry

    next(paired(many()))
    assert len(taken) < 1100


def test_a_page_says_late_results_by_themselves() -> None:
    later = [says("y" * 90_000) for _ in range(60)]
    page = html_of(run_of(says(call("1", "bash", command="sleep")), *later, returns("1", "bash", "woke up")))
    assert page.count("woke up") == 1
    assert page.index("no result") < page.index("woke up")


def test_many_calls_without_results_are_not_all_remembered() -> None:
    parts = [call(str(number), "bash", command="x") for number in range(600)]
    results = [entry for entry in entries_of([says(*parts), returns("0", "bash", "old"), returns("599", "bash", "new")])
               if isinstance(entry, Returned)]  # fmt: skip
    assert [(entry.text, entry.call is None) for entry in results] == [("old", True), ("new", False)]


def test_calls_with_large_arguments_are_remembered_for_a_shorter_time() -> None:
    conversation = Conversation()
    for number in range(100):
        list(conversation.take(says(call(str(number), "write", content="x" * 1_000_000))))
    (first,) = conversation.take(returns("0", "write", "ok"))
    (last,) = conversation.take(returns("99", "write", "ok"))
    assert isinstance(first, Returned)
    assert isinstance(last, Returned)
    assert first.call is None
    assert last.call is not None
