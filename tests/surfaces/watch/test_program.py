"""The program itself: help, colours, sizes, leaving."""

from __future__ import annotations

import pytest

from pi_subagents.surfaces.watch.dialogs import Help
from pi_subagents.surfaces.watch.keys import HELP, KEYS
from pi_subagents.surfaces.watch.run_list import FLAT, TALL, RunList
from pi_subagents.surfaces.watch.timeline import Timeline
from tests.session_kit import says
from tests.surfaces.watch.kit import NARROW, WIDE, Bench, watching

LARGE = (200, 60)


@pytest.mark.parametrize("key", ["escape", "question_mark", "q", "enter"])
async def test_a_question_mark_shows_every_key_until_it_is_closed(bench: Bench, key: str) -> None:
    async with watching(bench, NARROW) as eyes:
        await eyes.press("question_mark")
        assert isinstance(eyes.app.screen, Help)
        for shown, words in HELP:
            assert shown in eyes.screen
            assert words in eyes.screen
        await eyes.press(key)
        assert not isinstance(eyes.app.screen, Help)
        assert eyes.app.is_running


async def test_the_footer_fits_a_small_terminal(bench: Bench) -> None:
    async with watching(bench, NARROW) as eyes:
        footer = eyes.screen.rstrip("\n").split("\n")[-1]
        for binding in KEYS:
            assert (binding.description in footer) is binding.show, binding


async def test_d_changes_between_dark_and_light(bench: Bench) -> None:
    async with watching(bench) as eyes:
        assert eyes.app.current_theme.dark
        await eyes.press("d")
        assert not eyes.app.current_theme.dark
        await eyes.press("d")
        assert eyes.app.current_theme.dark


async def test_q_leaves(bench: Bench) -> None:
    bench.tea.add(name="brew", ends=None)
    async with watching(bench) as eyes:
        await eyes.press("q")
        assert not eyes.app.is_running


async def test_return_goes_to_the_conversation_and_escape_back(bench: Bench) -> None:
    bench.tea.add(says("x"))
    async with watching(bench) as eyes:
        focused = []
        for key in ("enter", "escape"):
            await eyes.press(key)
            focused.append(type(eyes.app.focused))
        assert focused == [Timeline, RunList]


@pytest.mark.parametrize(("size", "side_by_side"), [(NARROW, False), (WIDE, True), (LARGE, True), ((40, 10), False)])
async def test_list_and_conversation_stand_as_the_size_allows(
    bench: Bench, size: tuple[int, int], side_by_side: bool
) -> None:
    bench.tea.add(says("The answer"), name="brew")
    async with watching(bench, size) as eyes:
        await eyes.until(lambda: "✓ brew •" in eyes.conversation_text)
        runs, conversation = eyes.app.list.region, eyes.app.conversation.region
        assert (conversation.x >= runs.right) is side_by_side
        assert (conversation.y >= runs.bottom) is not side_by_side
        assert eyes.app.list.row_height == (TALL if side_by_side else FLAT)
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
