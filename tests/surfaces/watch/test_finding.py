"""Finding one run among many: by words, by state, by project."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from pi_subagents.models import Reason
from tests.kit.sessions import says
from tests.surfaces.watch.kit import Bench, watching


@pytest.fixture
def stocked(bench: Bench) -> Bench:
    bench.tea.add(name="brew", age_s=40, ends=None)
    bench.tea.add(says("x"), name="taste", profile="reviewer", age_s=50)
    bench.parser.add(name="lex", age_s=60, ends=Reason.EXIT, message="It fell over.")
    return bench


async def test_slash_searches_while_one_types(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        await eyes.reach("slash", Input)
        await eyes.press("l", "e")
        await eyes.until(lambda: eyes.names == ["lex"])
        await eyes.until_seen('only "le"')
        await eyes.press("backspace", "backspace", *"REVIEW")
        await eyes.until(lambda: eyes.names == ["taste"])


async def test_no_key_is_taken_for_a_search_that_nobody_asked_for(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        search = eyes.app.query_one(Input)
        search.styles.display = "block"  # as it is for a moment at the start, until the style sheet has been read
        eyes.app.screen.set_focus(search)
        await eyes.press("j", "l")
        assert (search.value, len(eyes.names)) == ("", 3)
        await eyes.press("q")
        await eyes.until(lambda: not eyes.app.is_running)


async def test_all_words_have_to_be_found_wherever_they_are(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        await eyes.reach("slash", Input)
        await eyes.press(*"parser", "space", *"fell")
        await eyes.until(lambda: eyes.names == ["lex"])
        await eyes.press("space", *"tea")
        await eyes.until(lambda: eyes.names == [])


async def test_return_goes_to_the_list_and_keeps_the_search(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        await eyes.reach("slash", Input)
        await eyes.press(*"tea", "enter")
        await eyes.until(lambda: eyes.app.focused is eyes.app.list)
        await eyes.until(lambda: eyes.names == ["brew", "taste"])
        await eyes.press("down")
        await eyes.until(lambda: eyes.chosen == "taste")


async def test_escape_shows_all_again(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        await eyes.reach("slash", Input)
        await eyes.press(*"nobody")
        await eyes.until_seen("No run matches.")
        await eyes.press("escape")
        await eyes.until(lambda: len(eyes.names) == 3)
        await eyes.until(lambda: eyes.app.focused is eyes.app.list)
        assert "only" not in eyes.screen.split("\n")[0]


async def test_f_goes_through_the_states(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        for shown in (["brew"], ["taste"], ["lex"], [], ["brew", "taste", "lex"]):
            await eyes.press("f")
            await eyes.until(lambda shown=shown: eyes.names == shown)  # type: ignore[misc]


async def test_a_run_that_ends_leaves_the_list_of_running_ones(stocked: Bench) -> None:
    (kept,) = stocked.tea.held
    async with watching(stocked) as eyes:
        await eyes.press("f")
        kept.let_go()
        await eyes.until_seen("No run matches.")


async def test_p_shows_only_the_project_of_the_chosen_run_and_then_all(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        await eyes.press("end", "p")
        await eyes.until(lambda: eyes.names == ["lex"])
        await eyes.until_seen("only parser")
        await eyes.press("p")
        await eyes.until(lambda: len(eyes.names) == 3)


async def test_keys_for_runs_do_nothing_where_there_is_none(bench: Bench) -> None:
    async with watching(bench) as eyes:
        for key in "xryoetp":
            await eyes.press(key)
        await eyes.until(lambda: set(eyes.notices) == {"No run is selected."})
