"""The list: every run of the machine, in the right order, true at every moment, and cheap to keep."""

from __future__ import annotations

import math

import pytest
from textual.widgets import Input

from pi_subagents.models import Reason
from pi_subagents.outcome import ending
from pi_subagents.place import Place
from pi_subagents.runs.listing import SessionSummary, Wanted, list_sessions
from pi_subagents.store import JOURNAL_FILE, RESULT_FILE
from tests.kit.sessions import call, returns, says
from tests.surfaces.watch.kit import NARROW, WIDE, Bench, watching


async def test_runs_of_all_projects_are_there_active_ones_first_then_the_newest(bench: Bench) -> None:
    bench.tea.add(name="old", age_s=5000)
    bench.parser.add(name="new", age_s=50)
    bench.tea.add(name="working", age_s=9000, ends=None)
    async with watching(bench) as eyes:
        await eyes.until(lambda: eyes.names == ["working", "new", "old"])
        await eyes.until_seen("Sub-agents: 1 running, 2 completed")
        await eyes.until_listed("tea-shop", "parser")


async def test_it_can_be_limited_to_one_project(bench: Bench) -> None:
    bench.tea.add(name="mine")
    bench.parser.add(name="other")
    async with watching(bench, project=bench.tea.project) as eyes:
        await eyes.until(lambda: eyes.names == ["mine"])
        assert "tea-shop" not in eyes.list_text


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_a_row_tells_what_people_ask_for(bench: Bench, size: tuple[int, int]) -> None:
    used = (says("One", call("1", "ls", path="."), at=1), returns("1", "ls", "a\nb"), says("All is well."))
    bench.tea.add(*used, name="inspect", profile="reviewer")
    bench.tea.add(name="broken", ends=Reason.TIMEOUT, message="Timed out after 7s.", age_s=9000)
    async with watching(bench, size) as eyes:
        await eyes.until_seen("✓ inspect", "1.0s", "1 tool", "240 tok", "$0.0200", "✗ broken")
        await eyes.until_listed("All is well.", "Timed out")


async def test_a_run_of_another_process_appears_by_itself(bench: Bench) -> None:
    async with watching(bench) as eyes:
        await eyes.until_seen("No runs yet.", 'pi-subagents run "')
        bench.parser.add(name="newcomer", ends=None)
        await eyes.until_seen("newcomer", "Sub-agents: 1 running")
        assert "No runs yet." not in eyes.screen


async def test_last_words_and_end_come_from_the_journal(bench: Bench) -> None:
    kept = bench.tea.add(says("First words"), name="talker", ends=None, age_s=3)
    async with watching(bench) as eyes:
        await eyes.until_listed("First words")
        kept.append(says("Second words"))
        await eyes.until_listed("Second words")
        kept.append(ending(Reason.SETTLED, None, kept.state.last_event_at))
        kept.let_go()
        await eyes.until_seen("✓ talker", "Sub-agents: 1 completed")


_ANSWER = "```\n---\n```\n\n> ## **Answer** in `a.py`\n\n- more\n\n```sh\nmake\n```"


async def test_of_an_ended_run_the_first_words_of_its_answer_are_shown(bench: Bench) -> None:
    bench.tea.add(says(_ANSWER), name="before", age_s=9)
    kept = bench.tea.add(says(_ANSWER), name="seen live", ends=None, age_s=3)
    async with watching(bench) as eyes:
        await eyes.until_listed("seen live", "before")
        kept.append(ending(Reason.SETTLED, None, kept.state.last_event_at))
        kept.let_go()
        await eyes.until(lambda: eyes.list_text.count("  Answer in a.py ") == 2, "both answers begin the same way")


async def test_an_answer_without_a_word_is_shown_too(bench: Bench) -> None:
    bench.tea.add(says("\n👍 ✓"), name="good")
    async with watching(bench) as eyes:
        await eyes.until_listed("👍 ✓")


async def test_a_run_whose_holder_dies_is_shown_as_lost(bench: Bench) -> None:
    kept = bench.tea.add(says("Half way"), name="orphan", ends=None)
    async with watching(bench) as eyes:
        await eyes.until_seen("orphan", "1 running")
        kept.let_go()
        await eyes.until_seen("✗ orphan", "1 failed")
        await eyes.until_listed("Session was interrupted")


async def test_a_deleted_session_goes_away(bench: Bench) -> None:
    kept = bench.tea.add(name="condemned")
    bench.tea.add(name="survivor")
    async with watching(bench) as eyes:
        await eyes.until(lambda: "condemned" in eyes.names)
        for file in kept.run_dir.iterdir():
            file.unlink()
        kept.run_dir.rmdir()
        await eyes.until(lambda: eyes.names == ["survivor"])


async def test_keys_choose_a_run(bench: Bench) -> None:
    for number in range(30):
        bench.tea.add(name=f"task {number}", age_s=100 + number)
    async with watching(bench) as eyes:
        for keys, chosen in (
            (["down"], "task 1"),
            (["home"], "task 0"),
            (["j", "j"], "task 2"),
            (["g"], "task 0"),
            (["down", "up"], "task 0"),
            (["j", "j", "k"], "task 1"),
            (["end"], "task 29"),
            (["home", "G"], "task 29"),
            (["g"], "task 0"),
            (["end", "home"], "task 0"),
            (["pagedown", "pagedown", "pageup", "pageup"], "task 0"),
        ):
            await eyes.press(*keys)
            await eyes.until(lambda chosen=chosen: eyes.chosen == chosen, f"{keys} choose {chosen}")  # type: ignore[misc]
            await eyes.until_listed(chosen)


async def test_a_page_is_about_a_screen(bench: Bench) -> None:
    for number in range(30):
        bench.tea.add(name=f"task {number}", age_s=100 + number)
    async with watching(bench, NARROW) as eyes:
        # What stands there as long as there is no run has left its place.
        await eyes.until(lambda: eyes.app.list.size.height == eyes.app.query_one("#runs").content_size.height)
        visible = eyes.app.list.size.height
        await eyes.press("pagedown")
        await eyes.until(lambda: eyes.chosen == f"task {visible - 1}")


async def test_a_click_chooses_too(bench: Bench) -> None:
    for number in range(3):
        bench.tea.add(name=f"task {number}", age_s=100 + number)
    async with watching(bench) as eyes:
        await eyes.pilot.click(eyes.app.list, offset=(5, 4))
        await eyes.until(lambda: eyes.chosen == "task 1")


async def test_the_choice_stays_with_its_session(bench: Bench) -> None:
    bench.tea.add(name="first", age_s=50)
    bench.tea.add(name="second", age_s=60)
    async with watching(bench) as eyes:
        await eyes.press("down")
        await eyes.until(lambda: eyes.chosen == "second")
        bench.tea.add(name="newcomer", age_s=1)
        await eyes.until(lambda: "newcomer" in eyes.names)
        assert eyes.chosen == "second"


async def test_finished_runs_are_not_read_to_be_listed(bench: Bench) -> None:
    for number in range(200):
        kept = bench.tea.add(name=f"task {number}", age_s=100 + number)
        (kept.run_dir / JOURNAL_FILE).unlink()
    async with watching(bench) as eyes:
        await eyes.until(lambda: len(eyes.names) == 200)
        await eyes.until_seen("200 completed")


async def test_nothing_is_listed_again_while_nothing_changes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = []

    def counted(place: Place, wanted: Wanted) -> list[SessionSummary]:
        listed.append(wanted)
        return list_sessions(place, wanted)

    monkeypatch.setattr("pi_subagents.runs.roster.list_sessions", counted)
    monkeypatch.setattr("pi_subagents.runs.roster._RELIST_S", math.inf)  # however long all this takes
    bench.tea.add(name="working", ends=None)
    async with watching(bench) as eyes:
        before = len(listed)
        for _ in range(5):
            await eyes.app.refresh_runs()
        assert len(listed) == before
        bench.parser.add(name="newcomer")
        await eyes.until(lambda: len(listed) > before)


async def test_names_cannot_steer_the_terminal_or_the_layout(bench: Bench) -> None:
    bench.tea.add(name="evil\x1b]0;owned\x07\x1b[2J[bold]name[/bold]\n", prompt="p", age_s=5)
    async with watching(bench) as eyes:
        await eyes.until_seen("evil[bold]name[/bold]")
        assert not any(character in eyes.screen for character in "\x1b\x07\r")


async def test_a_result_that_nobody_can_read_does_not_end_the_program(bench: Bench) -> None:
    kept = bench.tea.add(name="odd", age_s=50)
    bench.tea.add(says("Fine words."), name="even", age_s=60)
    (kept.run_dir / RESULT_FILE).write_bytes(b'{"x":' + b"[" * 500_000 + b"]" * 500_000 + b"}")
    async with watching(bench) as eyes:
        await eyes.until_listed("✓ odd", "Fine words.")


async def test_a_run_of_a_preset_is_listed_found_and_read_with_its_name(bench: Bench) -> None:
    bench.tea.add(says("x"), name="brew", preset="barista")
    bench.tea.add(says("x"), name="sip", profile="guest", age_s=7200)
    async with watching(bench) as eyes:
        await eyes.until_listed("barista", "guest")
        await eyes.until_told("brew • barista")
        await eyes.reach("slash", Input)
        await eyes.press(*"barista")
        await eyes.until(lambda: eyes.names == ["brew"])


async def test_the_title_sums_up_what_the_listed_runs_cost(bench: Bench) -> None:
    for number in range(3):
        bench.tea.add(says("x"), name=f"done {number}", age_s=100 + number)
    bench.parser.add(says("x"), name="failed", ends=Reason.TIMEOUT)
    async with watching(bench) as eyes:
        await eyes.until_seen("$0.0400 in total")
        await eyes.press("f", "f")
        await eyes.until_seen("only completed • $0.0300 in total")


async def test_what_a_resumed_session_has_cost_before_counts_in_the_title(bench: Bench) -> None:
    first = bench.tea.add(says("x"), name="brew", age_s=7200)
    async with watching(bench) as eyes:
        await eyes.until_seen("$0.0100 in total")
        bench.tea.add(says("y"), name="brew", age_s=60, session_id=first.session_id)
        await eyes.until_seen("$0.0200 in total")
    async with watching(bench) as eyes:
        await eyes.until_seen("$0.0200 in total")


async def test_names_have_the_width_there_is(bench: Bench) -> None:
    name = "Explain how the kettle heats water"
    bench.tea.add(says("x"), name=name)
    bench.tea.add(says("x"), name="A name without end " * 20, age_s=7200)
    for size in (NARROW, (200, 60)):
        async with watching(bench, size) as eyes:
            await eyes.until_listed(name, "$0.0100")
