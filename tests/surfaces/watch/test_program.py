"""The program itself: help, colours, sizes, leaving."""

from __future__ import annotations

import pytest

from pi_subagents.surfaces.watch.app import HELP, KEYS
from pi_subagents.surfaces.watch.conversation import Timeline
from pi_subagents.surfaces.watch.dialogs import Help
from pi_subagents.surfaces.watch.run_list import FLAT, TALL, RunList
from tests.kit.sessions import says
from tests.surfaces.watch.kit import NARROW, WIDE, Bench, watching

LARGE = (200, 60)


async def test_a_question_mark_shows_every_key_until_it_is_closed(bench: Bench) -> None:
    async with watching(bench, NARROW) as eyes:
        for key in ("escape", "question_mark", "q", "enter"):
            await eyes.press("question_mark")
            await eyes.until(lambda: isinstance(eyes.app.screen, Help))
            for shown, words in HELP:
                await eyes.until_seen(shown, words)
            await eyes.press(key)
            await eyes.until(lambda: not isinstance(eyes.app.screen, Help))
            assert eyes.app.is_running


async def test_the_footer_fits_a_small_terminal(bench: Bench) -> None:
    async with watching(bench, NARROW) as eyes:
        await eyes.until_seen(*(binding.description for binding in KEYS if binding.show))
        footer = eyes.screen.rstrip("\n").split("\n")[-1]
        for binding in KEYS:
            assert (binding.description in footer) is binding.show, binding


async def test_d_changes_between_dark_and_light(bench: Bench) -> None:
    async with watching(bench) as eyes:
        await eyes.until(lambda: eyes.app.current_theme.dark)
        await eyes.press("d")
        await eyes.until(lambda: not eyes.app.current_theme.dark)
        await eyes.press("d")
        await eyes.until(lambda: eyes.app.current_theme.dark)


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


async def test_q_leaves(bench: Bench) -> None:
    bench.tea.add(name="brew", ends=None)
    async with watching(bench) as eyes:
        await eyes.press("q")
        await eyes.until(lambda: not eyes.app.is_running)


async def test_return_goes_to_the_conversation_and_escape_back(bench: Bench) -> None:
    bench.tea.add(says("x"))
    async with watching(bench) as eyes:
        await eyes.press("enter")
        await eyes.until(lambda: isinstance(eyes.app.focused, Timeline))
        await eyes.press("escape")
        await eyes.until(lambda: isinstance(eyes.app.focused, RunList))


@pytest.mark.parametrize(("size", "side_by_side"), [(NARROW, False), (WIDE, True), (LARGE, True), ((40, 10), False)])
async def test_list_and_conversation_stand_as_the_size_allows(
    bench: Bench, size: tuple[int, int], side_by_side: bool
) -> None:
    bench.tea.add(says("The answer"), name="brew")
    async with watching(bench, size) as eyes:
        await eyes.until_told("✓ brew •")
        runs, conversation = eyes.app.list.region, eyes.app.conversation.region
        assert (conversation.x >= runs.right) is side_by_side
        assert (conversation.y >= runs.bottom) is not side_by_side
        await eyes.until(lambda: eyes.app.list.row_height == (TALL if side_by_side else FLAT))
        assert max(map(len, eyes.screen.split("\n"))) <= size[0]


async def test_it_follows_a_terminal_that_changes_its_size(bench: Bench) -> None:
    for number in range(30):
        bench.tea.add(says("x"), name=f"task {number}", age_s=100 + number)
    async with watching(bench, LARGE) as eyes:
        await eyes.press("end")
        await eyes.pilot.resize_terminal(*NARROW)
        await eyes.until(lambda: eyes.app.list.row_height == FLAT)
        await eyes.until_seen("✓ task 29")
        assert eyes.chosen == "task 29"
