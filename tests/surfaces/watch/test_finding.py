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
    bench.parser.add(name="lex", preset="grammarian", age_s=60, ends=Reason.EXIT, message="It fell over.")
    return bench


async def test_slash_searches_while_one_types_return_keeps_what_was_found_and_escape_shows_all(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        await eyes.reach("slash", Input)
        await eyes.press("l", "e")
        await eyes.until_names("lex")
        await eyes.until_seen('only "le"')
        await eyes.press("backspace", "backspace", *"REVIEW")
        await eyes.until_names("taste")
        await eyes.press("escape")
        await eyes.reach("slash", Input)
        # All words have to be found, wherever they are.
        await eyes.press(*"grammar", "space", *"fell")
        await eyes.until_names("lex")
        await eyes.press("space", *"tea")
        await eyes.until_names()
        await eyes.until_seen("No run matches.")
        await eyes.press("escape")
        await eyes.until_names("brew", "taste", "lex")
        await eyes.until(lambda: eyes.app.focused is eyes.app.list)
        assert "only" not in eyes.screen.split("\n")[0]
        await eyes.reach("slash", Input)
        await eyes.press(*"tea", "enter")
        await eyes.until(lambda: eyes.app.focused is eyes.app.list)
        await eyes.until_names("brew", "taste")
        await eyes.press("down")
        await eyes.until_chosen("taste")


async def test_no_key_is_taken_for_a_search_that_nobody_asked_for(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        search = eyes.app.query_one(Input)
        search.styles.display = "block"  # as it is for a moment at the start, until the style sheet has been read
        eyes.app.screen.set_focus(search)
        await eyes.press("j", "l")
        assert (search.value, len(eyes.names)) == ("", 3)
        await eyes.press("q")
        await eyes.until(lambda: not eyes.app.is_running)


async def test_f_goes_through_the_states_and_p_shows_only_the_project_of_the_chosen_run(stocked: Bench) -> None:
    (kept,) = stocked.tea.held
    async with watching(stocked) as eyes:
        await eyes.press("end", "p")
        await eyes.until_names("lex")
        await eyes.until_seen("only parser")
        await eyes.press("p")
        for shown in (["brew", "taste", "lex"], ["brew"], ["taste"], ["lex"], [], ["brew", "taste", "lex"], ["brew"]):
            await eyes.until_names(*shown)
            await eyes.press("f")
        await eyes.press(*"ffff")
        await eyes.until_names("brew")
        kept.let_go()  # a run that ends leaves the list of running ones
        await eyes.until_seen("No run matches.")
