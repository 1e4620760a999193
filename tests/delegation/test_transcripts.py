"""Sessions as text: what an agent that carries on is told, and what whoever asks for a session is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.delegation.prompts import compose_prompt
from pi_subagents.delegation.retelling import Told, retelling
from pi_subagents.export.transcripts import session_transcript
from pi_subagents.models import Reason
from pi_subagents.place import Place
from pi_subagents.tools import ToolContext, ToolResult, call_tool
from tests.kit.sessions import Kept, Shelf, call, returns, says, was_told


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return Shelf(tmp_path / "project", tmp_path / "agent")


async def session_of(shelf: Shelf, kept: Kept) -> ToolResult:
    place = Place.here(shelf.project, {"PI_AGENT_DIR": str(shelf.agent_dir)})
    return await call_tool("get_subagent_session", {"sessionId": kept.session_id}, ToolContext(place))


async def test_of_many_runs_the_last_ten_are_shown_with_the_numbers_they_have_and_all_messages_are_counted(
    shelf: Shelf,
) -> None:
    first = shelf.add(says("Answer 1"), says("More"), age_s=1000)
    for number in range(2, 12):
        shelf.add(says(f"Answer {number}"), session_id=first.session_id, age_s=1000 - number)
    result = await session_of(shelf, first)
    shown = [line for line in result.text.split("\n") if line.startswith("===")]
    assert shown == [f"=== Run {number}/11 (completed) ===" for number in range(2, 12)]
    assert (result.details["runCount"], result.details["messageCount"]) == (11, 12)


def test_runs_are_retold_with_the_numbers_they_have_among_all(shelf: Shelf) -> None:
    runs = [Told(shelf.add(says(f"Answer {number}")).state) for number in range(2)]
    assert retelling(runs, 10_000, run_count=11) == (
        "--- Run 10 (completed, 1 messages) ---\n\nUser: Do it\n\nAssistant: Answer 0\n\n"
        "--- Run 11 (completed, 1 messages) ---\n\nUser: Do it\n\nAssistant: Answer 1"
    )


def test_errors_stand_in_brackets_and_empty_results_are_left_out(shelf: Shelf) -> None:
    kept = shelf.add(
        was_told("Do it"),
        says(call("1", "bash", command="true")),
        returns("1", "bash", " \n"),
        says(error_message="429 slow down", stop_reason="error"),
        ends=Reason.EXIT,
        message="It fell over.",
    )
    assert retelling([Told(kept.state)], 10_000) == (
        'User: Do it\n\nTool Call: bash({"command":"true"})\n\n[Error: 429 slow down]\n\n[Error: It fell over.]'
    )
    assert "[tool result]: " in session_transcript([kept.state])


def _told(shelf: Shelf, files: dict[str, str], *, previously: str | None = None, said: str = "Fine.") -> Told:
    for name, text in files.items():
        (shelf.project / name).write_text(text)
    sent = compose_prompt("Review them.", (*files, "gone.txt"), shelf.project, previously=previously)
    state = shelf.add(was_told(sent), says(said), prompt="Review them.", file_count=len(files) + 1).state
    return Told(state, sent)


def test_what_an_agent_was_told_is_retold_with_its_files(shelf: Shelf) -> None:
    told = _told(shelf, {"a.txt": "alpha\n\nbeta", "b.txt": "gamma"})
    assert retelling([told], 10_000) == (
        "User: === a.txt ===\nalpha\n\nbeta\n\n=== b.txt ===\ngamma\n\n[file not found: gone.txt]\n\n"
        "Review them.\n\nAssistant: Fine."
    )


def test_what_happened_before_a_run_is_not_retold_twice(shelf: Shelf) -> None:
    first = _told(shelf, {"a.txt": "alpha"}, said="First answer.")
    second = _told(shelf, {"b.txt": "beta"}, previously=retelling([first], 10_000), said="Second answer.")
    assert retelling([first, second], 10_000) == (
        "--- Run 1 (completed, 2 messages) ---\n\nUser: === a.txt ===\nalpha\n\n[file not found: gone.txt]\n\n"
        "Review them.\n\nAssistant: First answer.\n\n"
        "--- Run 2 (completed, 2 messages) ---\n\nUser: === b.txt ===\nbeta\n\n[file not found: gone.txt]\n\n"
        "Review them.\n\nAssistant: Second answer."
    )


def test_a_file_that_holds_a_retelling_is_not_taken_for_one(shelf: Shelf) -> None:
    first = _told(shelf, {"a.txt": "alpha"}, said="First answer.")
    odd = {"odd.txt": "one\n\nPreviously:\n\nUser: two", "plain.txt": "one\n\nPreviously:\n\nthree", "b.txt": "beta"}
    second = _told(shelf, odd, previously=retelling([first], 10_000), said="Second answer.")
    text = retelling([first, second], 10_000)
    assert text.count("First answer.") == 1
    for name, content in odd.items():
        assert f"=== {name} ===\n{content}\n\n" in text


def test_where_there_is_no_room_the_contents_of_files_go_before_anything_else_and_their_names_stay(
    shelf: Shelf,
) -> None:
    told = _told(shelf, {"a.txt": "a" * 3000, "b.txt": "b" * 3000}, said="Fine. " * 100)
    text = retelling([told], 2000)
    assert len(text) <= 2000
    assert "=== a.txt ===\n" in text
    assert "=== b.txt ===\nb" in text
    assert text.count("characters of this file left out") == 2
    assert text.endswith(f"Assistant: {'Fine. ' * 100}")
    least = retelling([told], 400)
    assert "=== a.txt ===\n" in least
    assert "=== b.txt ===\n" in least
    assert "characters of this run left out" in least


def test_a_file_that_looks_like_thousands_of_them_takes_no_more_room_than_there_is(shelf: Shelf) -> None:
    told = _told(shelf, {"a.txt": "\n\n=== x ===\ny" * 50_000}, said="Fine. " * 100)
    text = retelling([told], 5000)
    assert len(text) <= 5000
    assert "[… 49,902 more files left out …]" in text
    assert text.endswith(f"Assistant: {'Fine. ' * 100}")


def test_a_text_that_was_not_composed_of_files_and_prompt_is_not_taken_apart(shelf: Shelf) -> None:
    state = shelf.add(says("Fine."), prompt="Do it").state
    assert (
        retelling([Told(state, "=== a.txt ===\nalpha\n\nDo something else")], 1000) == "User: Do it\n\nAssistant: Fine."
    )
