"""The conversation: complete, alive, at its end unless somebody reads further up, and harmless."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Markdown

from pi_subagents.export import Called, Noticed, Returned, Said
from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.outcome import ending
from pi_subagents.store import JOURNAL_FILE
from pi_subagents.surfaces.watch import blocks, conversation
from pi_subagents.surfaces.watch.blocks import CallBlock, FoldTitle
from pi_subagents.surfaces.watch.conversation import Timeline
from pi_subagents.surfaces.watch.run_list import RunList
from tests.kit.sessions import call, returns, says, was_told
from tests.surfaces.watch.kit import NARROW, Bench, watching


def deltas(*texts: str, kind: str = "text") -> list[ev.Event]:
    pieces: list[ev.Event] = [ev.Delta(kind="thinking" if kind == "thinking" else "text", text=text) for text in texts]
    return [ev.MessageStarted(role="assistant"), *pieces]


async def test_it_has_a_header_the_task_thoughts_text_and_calls_that_unfold(bench: Bench) -> None:
    bench.tea.add(
        was_told("Look around"),
        says(ev.ThinkingPart("Where to begin?"), "I **look**.", call("1", "bash", command="ls -a"), at=1),
        returns("1", "bash", "secret\ngarden", at=2500),
        says("# Found\n\nsrc/__main__.py\n  and _x_\n- a\n- b"),
        name="explore",
        prompt="Look around",
        profile="scout",
    )
    async with watching(bench) as eyes:
        await eyes.until_seen("✓ explore • scout (offline/scripted) • 1 tool • 1s • 240 tokens • $0.0200")
        await eyes.until_seen("Task", "Look around", "Where to begin?", "I look.", "Found", "• a")
        await eyes.until_seen("▶ → bash → ls -a  2 lines · 2.5s")
        await eyes.until_seen(f"session {bench.tea.runs[0].rpartition('-')[2]}")
        # Headings begin at the left; underscores and line breaks stay.
        lines = {line.strip(" ▌▎"): line for line in eyes.conversation_text.split("\n")}
        assert lines["Found"].index("Found") == lines["src/__main__.py"].index("src")
        assert "and _x_" in lines
        # It is short, so it begins at the top.
        assert eyes.app.query_one(Timeline).scroll_y == 0
        assert next(number for number, line in enumerate(eyes.screen.split("\n")) if "Task" in line) < 8
        assert "garden" not in eyes.screen
        await eyes.press("tab", "tab")
        await eyes.until(lambda: isinstance(eyes.app.focused, FoldTitle))
        await eyes.press("enter")
        await eyes.until_seen("▼ → bash", "command", "Result", "garden")
        await eyes.press("space")
        await eyes.until_gone("garden")
        await eyes.pilot.click(FoldTitle)
        await eyes.until_seen("garden")


async def test_what_an_agent_thinks_writes_and_calls_streams_in_until_its_end(bench: Bench) -> None:
    kept = bench.tea.add(name="sleeper", ends=None)
    async with watching(bench) as eyes:
        await eyes.until_seen("(starting...)", "⏳ sleeper")
        kept.append(*deltas("Hm, perhaps", kind="thinking"))
        await eyes.until_told("Hm, perhaps")
        kept.append(*deltas("Let me **thi", "nk** about"))
        await eyes.until_told("Let me **think** about")
        kept.append(says("Let me **think** about it."))
        await eyes.until_told("Let me think about it.")
        await eyes.until_gone("**")
        kept.append(says(call("1", "bash", command="make"), call("2", "bash", command="lint")))
        await eyes.until_told("→ bash → make  …", "→ bash → lint  …")
        kept.append(returns("2", "bash", "bad", is_error=True))
        await eyes.until_told("→ bash → lint  failed", "→ bash → make  …")
        await eyes.until(lambda: len(eyes.app.query(CallBlock)) == 2)
        await eyes.press("t")  # unfolds all calls, also those to come
        await eyes.until_told("bad")
        kept.append(says(call("3", "read", path="b")), returns("3", "read", "second"))
        await eyes.until_told("second")
        await eyes.press("t")
        await eyes.until_gone("bad")
        await eyes.until_gone("second")
        kept.append(ending(Reason.TIMEOUT, "Timed out after 7s.", 5))
        kept.let_go()
        await eyes.until_seen("✗ sleeper • ", "✗ Timed out after 7s.")


async def test_it_stays_at_its_end_until_somebody_scrolls_up(bench: Bench) -> None:
    kept = bench.tea.add(*(says(f"Line {number}") for number in range(30)), ends=None)
    async with watching(bench, NARROW) as eyes:
        await eyes.until_told("Line 29")
        kept.append(says("Line 30"))
        await eyes.until_told("Line 30")
        await eyes.reach("enter", Timeline)
        await eyes.press("pageup", "pageup")
        await eyes.until_gone("Line 30")
        kept.append(says("Line 31"))
        await eyes.until_listed("Line 31")
        await eyes.until(lambda: len(eyes.app.query(Markdown)) == 32, "it is below what is read")
        await eyes.pilot.pause()
        assert "Line 31" not in eyes.conversation_text
        await eyes.press("end")
        await eyes.until_told("Line 31")
        kept.append(says("Line 32"))
        await eyes.until_told("Line 32")


async def test_of_a_long_conversation_the_end_is_laid_out_and_the_rest_on_demand(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "PART", 10)
    monkeypatch.setattr(conversation, "MAX_BLOCKS", 30)
    kept = bench.tea.add(*(says(call(str(number), "read", path=f"file{number}")) for number in range(25)), ends=None)
    async with watching(bench) as eyes:
        await eyes.until_told("file24")
        await eyes.until(lambda: len(eyes.folds) == 10)
        earlier = eyes.app.query_one("#earlier")
        await eyes.until(lambda: "16 earlier blocks" in str(earlier.render()))
        earlier.focus()
        await eyes.press("enter")
        await eyes.until(lambda: len(eyes.folds) == 20)
        await eyes.press("enter")
        await eyes.until(lambda: len(eyes.folds) == 25)
        await eyes.until(lambda: not earlier.display)
        # While a run is followed, blocks do not pile up.
        await eyes.reach("escape", RunList)
        await eyes.reach("enter", Timeline)
        await eyes.press("end")
        for start in range(25, 55, 10):
            kept.append(*(says(call(str(n), "read", path=f"file{n}")) for n in range(start, start + 10)))
            await eyes.until_told(f"file{start + 9}")
        await eyes.until(lambda: len(eyes.folds) <= 30)
        before = len(eyes.folds)
        eyes.app.query_one(Timeline).show_earlier()
        await eyes.until(lambda: len(eyes.folds) == before + 10)


async def test_a_very_long_conversation_opens_at_its_end_and_says_what_is_not_held(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "PART", 10)
    monkeypatch.setattr(blocks, "MAX_ITEMS", 12)
    bench.tea.add(*(says(f"word {number}") for number in range(30)))
    async with watching(bench) as eyes:
        await eyes.until_told("word 29")
        await eyes.until(
            lambda: "18 before that are in the exported page only" in str(eyes.app.query_one("#earlier").render())
        )


def test_the_oldest_go_when_there_is_too_much_and_results_count_with_their_calls() -> None:
    items = blocks.Items()
    made = Called("1", "bash", "bash", {"command": "ls"})
    items.take([made, Returned("bash", "r" * blocks.MAX_BYTES, made), *[Said("x")] * 10])
    assert items.forget(most=5) == 1
    assert (len(items.held), items.forgotten) == (10, 1)
    items.take([Said("y" * blocks.MAX_BYTES)])
    assert items.forget(most=3) == 3
    assert (len(items.held), items.forgotten) == (8, 4)


def test_many_small_items_are_too_many_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MAX_ITEMS", 100)
    items = blocks.Items()
    items.take([Noticed(str(number)) for number in range(250)])
    assert items.forget(most=250) == 150
    assert items.held[0].entry == Noticed("150")


async def test_whatever_the_journal_of_a_run_is_like_its_conversation_is_shown(bench: Bench) -> None:
    evil = "A\x1b[2JB\x07\x9b31mC &#27;[31mD &#x202e;E \u202eF <b>G</b> [bold]H[/bold] [link](javascript:I)"
    bench.tea.add(
        says(evil, ev.ThinkingPart(evil), call("1", "bash", command=evil)),
        returns("1", "bash", evil),
        ev.Stderr(text=evil),
        prompt=evil,
        message=evil,
        ends=Reason.EXIT,
        age_s=10,
    )
    bench.tea.add(says("word " * 20_000), age_s=20)
    scratched = bench.tea.add(says("Before"), says("Middle"), says("After"), name="scratched", indexed=False, age_s=30)
    damage(scratched.run_dir / JOURNAL_FILE)
    hollow = bench.tea.add(name="hollow", age_s=40)
    (hollow.run_dir / JOURNAL_FILE).unlink()
    bench.tea.add(says("Fine"), name="whole", age_s=50)
    async with watching(bench) as eyes:
        await eyes.until_told("▶ → bash")
        await eyes.press("t")
        await eyes.until_told("Result")
        for forbidden in ("\x1b", "\x07", "\x9b", "\u202e"):
            assert forbidden not in eyes.screen
        await eyes.until_told("<b>G</b> [bold]H[/bold] [link](javascript:I)")
        await eyes.press("down")
        await eyes.until_told("80,000 more characters in the run's record")
        assert not eyes.app.query(Markdown)  # laying it out would hold the screen up
        await eyes.press("down")
        await eyes.until_told("✓ scratched", "Before", "After", "A line of the journal is damaged and cannot be read.")
        await eyes.press("down")
        await eyes.until_told("cannot read the journal")
        await eyes.press("down")
        await eyes.until_told("Fine")


def damage(journal: Path) -> None:
    """Make one line garbage, and cut another in half."""
    lines = journal.read_bytes().split(b"\n")
    started = next(number for number, line in enumerate(lines) if b'"started"' in line)
    lines[started] = b"\x00\xff garbage"
    lines = [line if b"Middle" not in line else line[: len(line) // 2] for line in lines]
    journal.write_bytes(b"\n".join(lines))


async def test_running_down_the_list_ends_at_the_right_conversation_and_a_resumed_one_shows_its_new_run(
    bench: Bench,
) -> None:
    *_, last = [bench.tea.add(says(f"Answer {n}"), name=f"task {n}", age_s=100 + n) for n in range(6)]
    async with watching(bench) as eyes:
        await eyes.press(*["down"] * 5)
        await eyes.until_seen("✓ task 5 •")
        await eyes.until(lambda: eyes.screen.count("Answer 5") == 2)
        bench.tea.add(says("New answer"), name="again", session_id=last.session_id, age_s=5, ends=None)
        await eyes.until_told("New answer", "run 2 of session")
