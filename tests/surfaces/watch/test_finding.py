"""Finding one run among many: by words, by state, by project."""

from __future__ import annotations

import pytest

from pi_subagents.models import Reason
from tests.session_kit import says
from tests.surfaces.watch.kit import Bench, watching


@pytest.fixture
def stocked(bench: Bench) -> Bench:
    bench.tea.add(name="brew", age_s=40, ends=None)
    bench.tea.add(says("x"), name="taste", profile="reviewer", age_s=50)
    bench.parser.add(name="lex", age_s=60, ends=Reason.EXIT, message="It fell over.")
    return bench


async def test_slash_searches_while_one_types(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        await eyes.press("slash", "l", "e")
        assert eyes.names == ["lex"]
        assert 'only "le"' in eyes.screen
        await eyes.press("backspace", "backspace", *"REVIEW")
        assert eyes.names == ["taste"]


async def test_all_words_have_to_be_found_wherever_they_are(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        await eyes.press("slash", *"parser", "space", *"fell")
        assert eyes.names == ["lex"]
        await eyes.press("space", *"tea")
        assert eyes.names == []


async def test_return_goes_to_the_list_and_keeps_the_search(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        await eyes.press("slash", *"tea", "enter")
        assert eyes.app.focused is eyes.app.list
        assert eyes.names == ["brew", "taste"]
        await eyes.press("down")
        assert eyes.chosen == "taste"


async def test_escape_shows_all_again(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        await eyes.press("slash", *"nobody")
        assert "No run matches." in eyes.screen
        await eyes.press("escape")
        assert len(eyes.names) == 3
        assert eyes.app.focused is eyes.app.list
        assert "only" not in eyes.screen.split("\n")[0]


async def test_f_goes_through_the_states(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        shown = []
        for _ in range(4):
            await eyes.press("f")
            shown.append(eyes.names)
        assert shown == [["brew"], ["taste"], ["lex"], ["brew", "taste", "lex"]]


async def test_a_run_that_ends_leaves_the_list_of_running_ones(stocked: Bench) -> None:
    (kept,) = stocked.tea.held
    async with watching(stocked) as eyes:
        await eyes.press("f")
        kept.let_go()
        await eyes.until_seen("No run matches.")


async def test_p_shows_only_the_project_of_the_chosen_run_and_then_all(stocked: Bench) -> None:
    async with watching(stocked) as eyes:
        await eyes.press("end", "p")
        assert eyes.names == ["lex"]
        assert "only parser" in eyes.screen
        await eyes.press("p")
        assert len(eyes.names) == 3


async def test_keys_for_runs_do_nothing_where_there_is_none(bench: Bench) -> None:
    async with watching(bench) as eyes:
        for key in "xryoetp":
            await eyes.press(key)
        assert set(eyes.notices) == {"There is no run to do that with."}
