"""The conversation: complete, alive, at its end unless somebody reads further up, and harmless."""

from __future__ import annotations

from textual.widgets import Markdown

from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.outcome import ending
from pi_subagents.store import JOURNAL_FILE
from pi_subagents.surfaces.watch.blocks import CallBlock, FoldTitle
from pi_subagents.surfaces.watch.conversation import MAX_BLOCKS, PART, Timeline
from tests.kit.sessions import call, returns, says, was_told
from tests.surfaces.watch.kit import NARROW, Bench, watching


def deltas(*texts: str, kind: str = "text") -> list[ev.Event]:
    pieces: list[ev.Event] = [ev.Delta(kind="thinking" if kind == "thinking" else "text", text=text) for text in texts]
    return [ev.MessageStarted(role="assistant"), *pieces]


async def test_it_has_a_header_the_task_thoughts_text_and_calls(bench: Bench) -> None:
    bench.tea.add(
        was_told("Look around"),
        says(ev.ThinkingPart("Where to begin?"), "I **look**.", call("1", "bash", command="ls -a"), at=1),
        returns("1", "bash", "one\ntwo", at=2500),
        says("# Found\n\n- a\n- b"),
        name="explore",
        prompt="Look around",
        profile="scout",
    )
    async with watching(bench) as eyes:
        await eyes.until_seen("✓ explore • scout (offline/scripted) • 1 tool • 1s • 240 tokens • $0.0200")
        await eyes.until_seen("Task", "Look around", "Where to begin?", "I look.", "Found", "• a")
        await eyes.until_seen("▶ → bash → ls -a  2 lines · 2.5s")
        await eyes.until_seen(f"session {bench.tea.runs[0].rpartition('-')[2]}")


async def test_return_unfolds_a_call_and_folds_it_again(bench: Bench) -> None:
    bench.tea.add(says(call("1", "bash", command="ls -a")), returns("1", "bash", "secret garden"))
    async with watching(bench) as eyes:
        await eyes.until_seen("▶ → bash")
        assert "secret garden" not in eyes.screen
        await eyes.press("tab", "tab")
        await eyes.until(lambda: isinstance(eyes.app.focused, FoldTitle))
        await eyes.press("enter")
        await eyes.until_seen("▼ → bash", "command", "Result", "secret garden")
        await eyes.press("space")
        await eyes.until_gone("secret garden")


async def test_t_unfolds_all_calls_also_those_to_come(bench: Bench) -> None:
    kept = bench.tea.add(says(call("1", "read", path="a")), returns("1", "read", "first"), ends=None)
    async with watching(bench) as eyes:
        await eyes.until_seen("→ read → a")
        await eyes.press("t")
        await eyes.until_seen("first")
        kept.append(says(call("2", "read", path="b")), returns("2", "read", "second"))
        await eyes.until_seen("second")
        await eyes.press("t")
        await eyes.until_gone("first")
        await eyes.until_gone("second")


async def test_a_click_unfolds_a_call(bench: Bench) -> None:
    bench.tea.add(says(call("1", "read", path="a")), returns("1", "read", "inside"))
    async with watching(bench) as eyes:
        await eyes.until_seen("→ read → a")
        await eyes.pilot.click(FoldTitle)
        await eyes.until_seen("inside")


async def test_a_result_finds_its_call(bench: Bench) -> None:
    kept = bench.tea.add(says(call("1", "bash", command="make"), call("2", "bash", command="lint")), ends=None)
    async with watching(bench) as eyes:
        await eyes.until_seen("→ bash → make  …", "→ bash → lint  …")
        kept.append(returns("2", "bash", "bad", is_error=True))
        await eyes.until_seen("→ bash → lint  failed")
        await eyes.until_seen("→ bash → make  …")
        await eyes.until(lambda: len(eyes.app.query(CallBlock)) == 2)


async def test_text_streams_in_and_becomes_markdown(bench: Bench) -> None:
    kept = bench.tea.add(ends=None)
    async with watching(bench) as eyes:
        await eyes.until_seen("(starting...)")
        kept.append(*deltas("Let me **thi", "nk** about"))
        await eyes.until_told("Let me **think** about")
        kept.append(says("Let me **think** about it."))
        await eyes.until_told("Let me think about it.")
        await eyes.until_gone("**")


async def test_headings_begin_at_the_left_and_underscores_and_line_breaks_stay(bench: Bench) -> None:
    bench.tea.add(says("# Title\n\nsrc/__main__.py\n  and _x_"))
    async with watching(bench) as eyes:
        await eyes.until_told("src/__main__.py", "_x_")
        lines = {line.strip(" ▌▎"): line for line in eyes.conversation_text.split("\n")}
        assert lines["Title"].index("Title") == lines["src/__main__.py"].index("src")
        assert "and _x_" in lines


async def test_thoughts_stream_in_too(bench: Bench) -> None:
    kept = bench.tea.add(ends=None)
    async with watching(bench) as eyes:
        kept.append(*deltas("Hm, perhaps", kind="thinking"))
        await eyes.until_seen("Hm, perhaps")


async def test_the_end_is_told(bench: Bench) -> None:
    kept = bench.tea.add(says("Half"), name="sleeper", ends=None)
    async with watching(bench) as eyes:
        await eyes.until_seen("⏳ sleeper")
        kept.append(ending(Reason.TIMEOUT, "Timed out after 7s.", 5))
        kept.let_go()
        await eyes.until_seen("✗ sleeper • ", "✗ Timed out after 7s.")


async def test_it_stays_at_its_end_until_somebody_scrolls_up(bench: Bench) -> None:
    kept = bench.tea.add(*(says(f"Line {number}") for number in range(60)), ends=None)
    async with watching(bench, NARROW) as eyes:
        await eyes.until_told("Line 59")
        kept.append(says("Line 60"))
        await eyes.until_told("Line 60")
        await eyes.reach("enter", Timeline)
        await eyes.press("pageup", "pageup")
        await eyes.until_gone("Line 60")
        kept.append(says("Line 61"))
        await eyes.until_listed("Line 61")
        await eyes.until(lambda: len(eyes.app.query(Markdown)) == 62, "it is below what is read")
        await eyes.pilot.pause()
        assert "Line 61" not in eyes.conversation_text
        await eyes.press("end")
        await eyes.until_told("Line 61")
        kept.append(says("Line 62"))
        await eyes.until_told("Line 62")


async def test_a_short_conversation_begins_at_the_top(bench: Bench) -> None:
    bench.tea.add(says("Only this."))
    async with watching(bench) as eyes:
        await eyes.until_told("Task", "Only this.")
        await eyes.until(lambda: eyes.app.query_one(Timeline).scroll_y == 0)
        lines = eyes.screen.split("\n")
        assert next(number for number, line in enumerate(lines) if "Task" in line) < 8


async def test_of_a_long_conversation_the_end_is_laid_out_and_the_rest_on_demand(bench: Bench) -> None:
    bench.tea.add(*(says(call(str(number), "read", path=f"file{number}")) for number in range(250)))
    async with watching(bench) as eyes:
        await eyes.until_told("file249")
        await eyes.until(lambda: len(eyes.folds) == PART)
        earlier = eyes.app.query_one("#earlier")
        await eyes.until(lambda: "151 earlier blocks" in str(earlier.render()))
        earlier.focus()
        await eyes.press("enter")
        await eyes.until(lambda: len(eyes.folds) == 2 * PART)
        await eyes.press("enter")
        await eyes.until(lambda: len(eyes.folds) == 250)
        await eyes.until(lambda: not earlier.display)


async def test_blocks_do_not_pile_up_while_a_run_is_followed(bench: Bench) -> None:
    kept = bench.tea.add(ends=None)
    async with watching(bench) as eyes:
        for start in range(0, 400, 100):
            kept.append(*(says(call(str(n), "read", path=f"file{n}")) for n in range(start, start + 100)))
            await eyes.until_told(f"file{start + 99}")
        await eyes.until(lambda: len(eyes.folds) <= MAX_BLOCKS)
        before = len(eyes.folds)
        eyes.app.query_one(Timeline).show_earlier()
        await eyes.until(lambda: len(eyes.folds) == before + PART)


async def test_nothing_an_agent_writes_reaches_the_terminal_as_a_command(bench: Bench) -> None:
    evil = "A\x1b[2JB\x07\x9b31mC &#27;[31mD &#x202e;E \u202eF <b>G</b> [bold]H[/bold] [link](javascript:I)"
    bench.tea.add(
        says(evil, ev.ThinkingPart(evil), call("1", "bash", command=evil)),
        returns("1", "bash", evil),
        ev.Stderr(text=evil),
        prompt=evil,
        message=evil,
        ends=Reason.EXIT,
    )
    async with watching(bench) as eyes:
        await eyes.until_seen("▶ → bash")
        await eyes.press("t")
        await eyes.until_seen("Result")
        for forbidden in ("\x1b", "\x07", "\x9b", "\u202e"):
            assert forbidden not in eyes.screen
        await eyes.until_seen("<b>G</b> [bold]H[/bold] [link](javascript:I)")


async def test_a_very_long_text_is_shown_without_being_laid_out(bench: Bench) -> None:
    bench.tea.add(says("word " * 20_000))
    async with watching(bench) as eyes:
        await eyes.until_seen("80,000 more characters in the run's record")
        assert not eyes.app.query(Markdown)


async def test_of_a_damaged_journal_everything_readable_is_shown(bench: Bench) -> None:
    kept = bench.tea.add(says("Before"), says("Middle"), says("After"), name="scratched", indexed=False)
    journal = kept.run_dir / JOURNAL_FILE
    lines = journal.read_bytes().split(b"\n")
    started = next(number for number, line in enumerate(lines) if b'"started"' in line)
    lines[started] = b"\x00\xff garbage"
    lines = [line if b"Middle" not in line else line[: len(line) // 2] for line in lines]
    journal.write_bytes(b"\n".join(lines))
    async with watching(bench) as eyes:
        await eyes.until_seen("Before", "After", "A line of the journal is damaged and cannot be read.")
        await eyes.until_seen("✓ scratched")


async def test_a_journal_that_is_gone_is_said_to_be_gone(bench: Bench) -> None:
    kept = bench.tea.add(name="hollow")
    bench.tea.add(says("Fine"), name="whole", age_s=9000)
    (kept.run_dir / JOURNAL_FILE).unlink()
    async with watching(bench) as eyes:
        await eyes.until_seen("cannot read the journal")
        await eyes.press("down")
        await eyes.until_seen("Fine")


async def test_running_down_the_list_ends_at_the_right_conversation(bench: Bench) -> None:
    for number in range(6):
        bench.tea.add(says(f"Answer {number}"), name=f"task {number}", age_s=100 + number)
    async with watching(bench) as eyes:
        await eyes.press(*["down"] * 5)
        await eyes.until_seen("✓ task 5 •")
        await eyes.until(lambda: eyes.screen.count("Answer 5") == 2)


async def test_a_resumed_session_shows_its_new_run(bench: Bench) -> None:
    kept = bench.tea.add(says("Old answer"), name="again", age_s=50)
    async with watching(bench) as eyes:
        await eyes.until_seen("Old answer")
        bench.tea.add(says("New answer"), name="again", session_id=kept.session_id, age_s=5, ends=None)
        await eyes.until_seen("New answer", "run 2 of session")
