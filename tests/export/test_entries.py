"""A run's conversation as entries: nothing that was journalled may be missing, nothing may steer a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pi_subagents.export import Added, Called, Conversation, Entry, Given, Noticed, Returned, Said, Thought
from pi_subagents.export.entries import paired
from pi_subagents.models import Reason, Status
from pi_subagents.models import event as ev
from pi_subagents.text.harmless import printable
from tests.export.kit import entries_of, html_of
from tests.kit.sessions import call, returns, run_of, says, was_told


def test_a_conversation_is_told_in_order_and_a_result_knows_its_call() -> None:
    entries = entries_of(
        run_of(
            was_told("Do it"),
            says(ev.ThinkingPart("Hm."), "Looking.", call("1", "read", path="a.py"), call("2", "ls")),
            returns("2", "ls", "a.py"),
            returns("1", "read", "x = 1"),
            says("Done."),
        )
    )
    kinds = [type(entry) for entry in entries]
    assert kinds == [Thought, Said, Called, Called, Returned, Returned, Said]
    read, ls = entries[2], entries[3]
    assert [entry.call for entry in entries if isinstance(entry, Returned)] == [ls, read]


def test_nothing_is_cut_however_long_it_is() -> None:
    text = "x" * 2_000_000
    entries = entries_of(run_of(says(call("1", "write", content=text)), returns("1", "write", text), says(text)))
    assert [len(entry.text) for entry in entries if isinstance(entry, Returned | Said)] == [len(text)] * 2
    assert [entry.arguments for entry in entries if isinstance(entry, Called)] == [{"content": text}]


def test_more_messages_than_memory_holds_are_all_told() -> None:
    entries = entries_of(run_of(*(says(str(number)) for number in range(1200))))
    assert [entry.text for entry in entries if isinstance(entry, Said)] == [str(number) for number in range(1200)]


def test_text_that_was_being_written_when_the_run_ended_is_kept_and_marked() -> None:
    lost = ev.Ended(status=Status.FAILED, reason=Reason.LOST, message="Interrupted")
    entries = entries_of(
        [*run_of(ev.Delta(kind="text", text="I was about"), ev.Delta(kind="text", text=" to"), status=None), lost]
    )
    assert entries == [Said("I was about to", unfinished=True), Noticed("Interrupted", "error")]


def test_text_is_not_told_twice_when_its_message_is_complete() -> None:
    entries = entries_of(run_of(ev.Delta(kind="text", text="Hello"), says("Hello")))
    assert entries == [Said("Hello")]


def test_a_running_run_tells_what_has_been_said_so_far() -> None:
    conversation = Conversation()
    told = [
        entry for event in run_of(ev.Delta(kind="text", text="So f"), status=None) for entry in conversation.take(event)
    ]
    assert told == []
    assert list(conversation.rest()) == [Said("So f", unfinished=True)]


def test_what_was_given_with_the_task_is_told_once_and_the_task_itself_not_again() -> None:
    assert entries_of(run_of(was_told("Do it"))) == []
    assert entries_of(run_of(was_told("=== a ===\nx\n\nDo it"))) == [Given("=== a ===\nx\n\nDo it")]
    assert entries_of(run_of(was_told("Do it"), was_told("Faster"))) == [Added("user", "Faster")]


def test_an_error_is_told_once() -> None:
    failed = ev.Ended(status=Status.FAILED, reason=Reason.AGENT_ERROR, message="quota exceeded")
    broken = says(stop_reason="error", error_message="quota exceeded")
    assert entries_of([*run_of(broken, status=None), failed]) == [Noticed("quota exceeded", "error")]


def test_a_call_that_broke_off_is_no_call() -> None:
    entries = entries_of(run_of(says(call("1", "bash", command="rm -rf"), stop_reason="aborted")))
    assert entries == [Noticed("Interrupted during a tool call: bash → rm -rf")]


def test_what_happens_around_the_conversation_is_told() -> None:
    entries = entries_of(
        run_of(ev.Stderr(text="warning\n"), ev.RetryStarted(attempt=1, message="529"), ev.Output(text="not JSON"))
    )
    assert [(entry.kind, entry.text) for entry in entries if isinstance(entry, Noticed)] == [
        ("output", "warning"),
        ("notice", "Model error, retrying (1): 529"),
        ("output", "not JSON"),
    ]


def test_a_damaged_line_of_the_journal_is_not_passed_over_in_silence() -> None:
    entries = entries_of(run_of(ev.Unknown(kind="damaged", record=msgspec.Raw(b'"x"'), ours=True)))
    assert [entry.kind for entry in entries if isinstance(entry, Noticed)] == ["error"]


def test_escapes_are_gone_from_everything_an_agent_and_its_tools_can_write() -> None:
    evil = "a\x1b]0;title\x07b\x1b[2J\x9b31mc\u202ed"
    entries = entries_of(
        run_of(
            says(ev.ThinkingPart(evil), evil, call(evil, evil, **{evil: evil}), error_message=evil),
            returns(evil, evil, evil),
            was_told(evil),
            was_told(evil),
            ev.Stderr(text=evil),
            note=evil,
        )
    )
    assert len(entries) == 9
    shown = [value for entry in entries for value in _texts(entry)]
    assert not [text for text in shown if set(text) & set("\x1b\x07\x9b\u202e")]


def _texts(entry: object) -> list[str]:
    names = ("text", "name", "preview", "role")
    return [value for name in names if isinstance(value := getattr(entry, name, None), str)]


def test_tabs_and_line_breaks_of_code_are_kept() -> None:
    assert printable("def f():\n\treturn 1\x1b[0m\t# one") == "def f():\n\treturn 1\t# one"


def calls(count: int) -> list[Called]:
    return [Called(str(number), "bash", f"bash {number}", {"command": str(number)}) for number in range(count)]


def test_what_happens_between_a_call_and_its_result_stands_behind_both() -> None:
    (made,) = calls(1)
    result = Returned("bash", "ok", made)
    entries = list(paired([Said("a"), made, Noticed("meanwhile"), result, Said("b")]))
    assert [placed.entry for placed in entries] == [Said("a"), made, Noticed("meanwhile"), Said("b")]
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
