"""The program itself: help, colours, sizes, leaving, and a terminal that goes away."""

from __future__ import annotations

import os
import pty

import pytest
from textual.app import App
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from pi_subagents.surfaces.watch.app import HELP, KEYS, LastingDriver
from pi_subagents.surfaces.watch.conversation import Timeline
from pi_subagents.surfaces.watch.dialogs import Help
from pi_subagents.surfaces.watch.run_list import FLAT, TALL, RunList
from tests.kit.sessions import says
from tests.kit.waiting import PATIENCE_S
from tests.surfaces.watch.kit import LARGE, NARROW, WIDE, Bench, watching


async def test_in_a_small_terminal_the_footer_fits_and_a_question_mark_shows_every_key_until_it_is_closed(
    bench: Bench,
) -> None:
    async with watching(bench, NARROW) as eyes:
        await eyes.until_seen(*(binding.description for binding in KEYS if binding.show))
        footer = eyes.screen.rstrip("\n").split("\n")[-1]
        for binding in KEYS:
            assert (binding.description in footer) is binding.show, binding
        for key in ("escape", "question_mark", "q", "enter"):
            await eyes.press("question_mark")
            await eyes.until(lambda: isinstance(eyes.app.screen, Help))
            for shown, words in HELP:
                await eyes.until_seen(shown, words)
            await eyes.press(key)
            await eyes.until_closed(Help)
            assert eyes.app.is_running


async def test_without_a_run_its_keys_say_so_d_changes_between_dark_and_light_and_q_leaves(bench: Bench) -> None:
    async with watching(bench) as eyes:
        await eyes.press(*"xryoetp")
        await eyes.until(lambda: set(eyes.notices) == {"No run is selected."})
        for dark in (True, False, True):
            assert eyes.app.current_theme.dark is dark
            await eyes.press("d")
        bench.tea.add(name="brew", ends=None)
        await eyes.until_told("⏳ brew")
        await eyes.press("q")
        await eyes.until(lambda: not eyes.app.is_running)


async def test_no_color_takes_all_colours_and_leaves_the_chosen_run_marked(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    bench.tea.add(says("The answer"), name="brew")
    bench.tea.add(says("x"), name="sip", age_s=7200)
    async with watching(bench) as eyes:
        await eyes.until_told("The answer")
        segments = [segment for strip in eyes.app.screen._compositor.render_strips() for segment in strip]
        styled = [(segment.text, segment.style) for segment in segments if segment.style is not None]
        colours = {colour for _, style in styled for colour in (style.color, style.bgcolor) if colour}
        assert all(colour.is_default for colour in colours), colours
        reversed_texts = "".join(text for text, style in styled if style.reverse)
        assert ("brew" in reversed_texts, "sip" in reversed_texts) == (True, False)


async def test_list_and_conversation_stand_as_the_size_allows_and_return_and_escape_lead_there_and_back(
    bench: Bench,
) -> None:
    bench.tea.add(says("The answer"), name="brew")
    async with watching(bench) as eyes:
        for size, side_by_side in ((NARROW, False), (WIDE, True), (LARGE, True), ((40, 10), False)):
            await eyes.resize(size)
            await eyes.until_told("✓ brew •")
            runs, conversation = eyes.app.list.region, eyes.app.conversation.region
            assert (conversation.x >= runs.right) is side_by_side
            assert (conversation.y >= runs.bottom) is not side_by_side
            assert eyes.app.list.row_height == (TALL if side_by_side else FLAT)
            assert max(map(len, eyes.screen.split("\n"))) <= size[0]
        await eyes.reach("enter", Timeline)
        await eyes.reach("escape", RunList)


@pytest.mark.timeout(PATIENCE_S)  # without the driver it would hang
async def test_writes_to_a_closed_terminal_go_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", closefd=False) as file:
        monkeypatch.setattr("sys.__stderr__", file)
        driver = LastingDriver(App())
        os.close(master)
        writer = WriterThread(driver._file)
        writer.start()
        for _ in range(3 * MAX_QUEUED_WRITES):
            writer.write("frame\n" * 100)
        writer.stop()
        assert not writer.is_alive()
        assert driver._file.fileno() == slave
        os.dup2(os.open(os.devnull, os.O_WRONLY), slave)  # what is still buffered has to go somewhere
    os.close(slave)
