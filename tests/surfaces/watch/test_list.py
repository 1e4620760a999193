"""The list: every run of the machine, in the right order, true at every moment, and cheap to keep."""

from __future__ import annotations

import math
import shutil

import pytest

from pi_subagents.models import Reason
from pi_subagents.models.idle_agent import IdleAgent
from pi_subagents.outcome import ending
from pi_subagents.place import Place
from pi_subagents.runs.listing import SessionSummary, Wanted, list_sessions
from pi_subagents.store import JOURNAL_FILE, RESULT_FILE, ProcessSlots
from tests.kit.sessions import call, returns, says
from tests.surfaces.watch.kit import LARGE, NARROW, WIDE, Bench, watching

_ANSWER = "```\n---\n```\n\n> ## **Answer** in `a.py`\n\n- more\n\n```sh\nmake\n```"


async def test_runs_of_all_projects_are_there_active_ones_first_then_the_newest_with_what_people_ask_for(
    bench: Bench,
) -> None:
    used = (says("One", call("1", "ls", path="."), at=1), returns("1", "ls", "a\nb"), says("All is well."))
    bench.tea.add(*used, name="inspect", profile="reviewer", age_s=5000)
    bench.tea.add(name="broken", ends=Reason.TIMEOUT, message="Timed out after 7s.", age_s=7200)
    bench.parser.add(says("\n👍 ✓"), name="new", preset="barista", age_s=50)
    bench.tea.add(name="working", age_s=9000, ends=None)
    bench.tea.add(name="evil\x1b]0;owned\x07\x1b[2J[bold]name[/bold]\n", age_s=8500)
    async with watching(bench) as eyes:
        await eyes.until(lambda: eyes.names[:4] == ["working", "new", "inspect", "broken"], "their order")
        await eyes.until_seen("Sub-agents: 1 running, 3 completed, 1 failed")
        await eyes.until_listed("tea-shop", "barista", "reviewer", "👍 ✓")  # also where an answer has no word
        await eyes.until_listed("evil[bold]name[/bold]")
        assert not any(character in eyes.screen for character in "\x1b\x07\r")
        for size in (WIDE, NARROW):
            await eyes.resize(size)
            await eyes.until_listed("✓ inspect", "1.0s", "1 tool", "240 tok", "$0.0200", "✗ broken")
            await eyes.until_listed("All is well.", "Timed out")
        await eyes.resize(LARGE)
        await eyes.until_listed("parser")


async def test_names_have_the_width_there_is(bench: Bench) -> None:
    name = "Explain how the kettle heats water"
    bench.tea.add(says("x"), name=name)
    bench.tea.add(says("x"), name="A name without end " * 20, age_s=7200)
    async with watching(bench, NARROW) as eyes:
        await eyes.until_listed(name, "$0.0100")
        await eyes.resize(LARGE)
        await eyes.until_listed(name, "$0.0100")


async def test_it_can_be_limited_to_one_project(bench: Bench) -> None:
    bench.tea.add(name="mine")
    bench.parser.add(name="other")
    async with watching(bench, project=bench.tea.project) as eyes:
        await eyes.until_names("mine")
        assert "tea-shop" not in eyes.list_text


async def test_what_other_processes_do_is_seen_by_itself_and_the_choice_stays_with_its_session(bench: Bench) -> None:
    async with watching(bench) as eyes:
        await eyes.until_seen("No runs yet.", 'pi-subagents run "')
        talker = bench.parser.add(says("First words"), name="talker", ends=None, age_s=30)
        await eyes.until_seen("talker", "Sub-agents: 1 running")
        assert "No runs yet." not in eyes.screen
        await eyes.until_listed("First words")
        talker.append(says("Second words"))
        await eyes.until_listed("Second words")
        talker.append(ending(Reason.SETTLED, None, talker.state.last_event_at))
        talker.let_go()
        await eyes.until_seen("✓ talker", "Sub-agents: 1 completed")
        orphan = bench.tea.add(says("Half way"), name="orphan", ends=None, age_s=20)
        await eyes.until_seen("orphan", "1 running")
        assert eyes.chosen == "talker"
        orphan.let_go()  # its holder is dead
        await eyes.until_seen("✗ orphan", "1 failed")
        await eyes.until_listed("Session was interrupted")
        shutil.rmtree(orphan.run_dir)
        await eyes.until_names("talker")


async def test_of_an_ended_run_the_first_words_of_its_answer_are_shown(bench: Bench) -> None:
    bench.tea.add(says(_ANSWER), name="before", age_s=9)
    kept = bench.tea.add(says(_ANSWER), name="seen live", ends=None, age_s=3)
    async with watching(bench) as eyes:
        await eyes.until_listed("seen live", "before")
        kept.append(ending(Reason.SETTLED, None, kept.state.last_event_at))
        kept.let_go()
        await eyes.until(lambda: eyes.list_text.count("  Answer in a.py ") == 2, "both answers begin the same way")


async def test_keys_and_clicks_choose_a_run_also_after_a_change_of_size(bench: Bench) -> None:
    for number in range(30):
        bench.tea.add(name=f"task {number}", age_s=100 + number)
    async with watching(bench, LARGE) as eyes:
        for keys, chosen in (
            (["down"], "task 1"),
            (["home"], "task 0"),
            (["j", "j"], "task 2"),
            (["g"], "task 0"),
            (["down", "up"], "task 0"),
            (["j", "j", "k"], "task 1"),
            (["end"], "task 29"),
            (["home", "G"], "task 29"),
            (["pageup", "pageup", "pagedown", "pagedown"], "task 29"),
            (["end", "home"], "task 0"),
        ):
            await eyes.press(*keys)
            await eyes.until_chosen(chosen)
            await eyes.until_listed(chosen)
        await eyes.pilot.click(eyes.app.list, offset=(5, 4))
        await eyes.until_chosen("task 1")
        await eyes.press("end")
        await eyes.resize(NARROW)
        await eyes.until_seen("✓ task 29")
        assert eyes.chosen == "task 29"
        await eyes.press("pageup")  # a page is about a screen
        await eyes.until_chosen(f"task {30 - eyes.app.list.size.height}")


async def test_finished_runs_are_not_read_to_be_listed_and_an_unreadable_result_ends_nothing(bench: Bench) -> None:
    for number in range(30):
        kept = bench.tea.add(name=f"task {number}", age_s=100 + number)
        (kept.run_dir / JOURNAL_FILE).unlink()
    odd = bench.tea.add(name="odd", age_s=50)
    bench.tea.add(says("Fine words."), name="even", age_s=60)
    (odd.run_dir / RESULT_FILE).write_bytes(b'{"x":' + b"[" * 500_000 + b"]" * 500_000 + b"}")
    async with watching(bench) as eyes:
        await eyes.until(lambda: len(eyes.names) == 32)
        await eyes.until_seen("32 completed")
        await eyes.until_listed("✓ odd", "Fine words.")


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


async def test_the_title_sums_up_what_the_listed_sessions_cost_with_all_their_runs(bench: Bench) -> None:
    first = bench.tea.add(says("x"), name="brew", age_s=7200)
    bench.tea.add(says("x"), name="sip", age_s=100)
    bench.parser.add(says("x"), name="failed", ends=Reason.TIMEOUT)
    async with watching(bench) as eyes:
        await eyes.until_seen("$0.0300 in total")
        bench.tea.add(says("y"), name="brew", age_s=60, session_id=first.session_id)
        await eyes.until_seen("$0.0400 in total")
        await eyes.press("f", "f")
        await eyes.until_seen("only completed • $0.0300 in total")
    async with watching(bench) as eyes:
        await eyes.until_seen("$0.0400 in total")


async def test_agents_that_wait_for_their_next_task_are_told_of_in_a_line_while_there_are_any(bench: Bench) -> None:
    bench.tea.add(name="mine")
    slots = ProcessSlots.of(bench.agent_dir, 2)
    assert slots is not None
    slot = slots.take()
    assert slot is not None
    line = "1 idle agent process kept by pi's bridge (pid 123), 120.0 MB"
    async with watching(bench, NARROW) as eyes:
        assert line not in eyes.screen
        slot.tell_idle(IdleAgent("pi", 123, 456, 0, 120_000_000))
        await eyes.until_seen("mine", line)
        slot.release()
        await eyes.until(lambda: line not in eyes.screen, "no idle agent any more")
