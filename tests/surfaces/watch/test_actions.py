"""What can be done with a run, key by key, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Button, TextArea

from pi_subagents.models import Reason, Status
from pi_subagents.outcome import CANCELLED_SENTENCE, ending
from pi_subagents.store import load_run, session_runs, stop_request
from pi_subagents.surfaces.watch.dialogs import Confirmation, PromptDialog
from tests.kit.sessions import Kept, says
from tests.surfaces.watch.kit import NARROW, Bench, watching


def latest(kept: Kept) -> Path:
    return session_runs(kept.run_dir.parent, kept.session_id)[-1]


# --- x ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [["y"], ["tab", "enter"], ["right", "enter"]])
async def test_x_asks_and_then_asks_the_holder_to_stop(bench: Bench, keys: list[str]) -> None:
    kept = bench.tea.add(name="brew", ends=None)
    async with watching(bench, NARROW) as eyes:
        await eyes.reach("x", Button)
        await eyes.until_seen("Stop “brew”?")
        assert stop_request(kept.run_dir) is None
        await eyes.press(*keys)
        await eyes.until(lambda: stop_request(kept.run_dir) == CANCELLED_SENTENCE)
        await eyes.until(lambda: "“brew” was asked to stop." in eyes.notices)


async def test_x_is_harmless_without_a_clear_yes(bench: Bench) -> None:
    kept = bench.tea.add(name="brew", ends=None)
    async with watching(bench) as eyes:
        for key in ("n", "escape", "q", "enter"):
            await eyes.reach("x", Button)
            await eyes.press(key)
            await eyes.until(lambda: not isinstance(eyes.app.screen, Confirmation))
            assert stop_request(kept.run_dir) is None


async def test_the_mouse_answers_too(bench: Bench) -> None:
    kept = bench.tea.add(name="brew", ends=None)
    async with watching(bench) as eyes:
        await eyes.press("x")
        await eyes.until_seen("Stop it (y)")
        await eyes.pilot.click("#yes")
        await eyes.until(lambda: stop_request(kept.run_dir) is not None)
        await eyes.until(lambda: not eyes.app.query(Button))


async def test_a_run_that_is_over_cannot_be_stopped(bench: Bench) -> None:
    bench.tea.add(name="brew")
    async with watching(bench) as eyes:
        await eyes.press("x")
        await eyes.until(lambda: eyes.notices == ["“brew” has already ended."])


# --- r ---------------------------------------------------------------------------------------------------------


async def test_r_goes_on_with_the_session_and_shows_it(bench: Bench) -> None:
    kept = bench.tea.add(says("First answer"), name="brew", profile=None)
    async with watching(bench) as eyes:
        await eyes.reach("r", TextArea)
        await eyes.press(*"Stronger", "ctrl+j", *"please", "enter")
        # First what is said in the corner: it is there for some seconds only.
        await eyes.until(lambda: "“brew” continues, even when you quit." in eyes.notices)
        await eyes.until(lambda: latest(kept) != kept.run_dir)
        await eyes.until(lambda: load_run(latest(kept)).status.is_terminal)
        state = load_run(latest(kept))
        assert (state.status, state.prompt, state.name) == (Status.COMPLETED, "Stronger\nplease", "brew")
        assert state.background
        await eyes.until_told("run 2 of session")


async def test_without_a_prompt_nothing_is_resumed(bench: Bench) -> None:
    kept = bench.tea.add(name="brew")
    async with watching(bench) as eyes:
        for keys in (["escape"], ["enter", "escape"], ["space", "enter", "escape"]):
            await eyes.reach("r", TextArea)
            await eyes.press(*keys)
            await eyes.until(lambda: not isinstance(eyes.app.screen, PromptDialog))
            assert latest(kept) == kept.run_dir


async def test_a_running_session_is_not_resumed(bench: Bench) -> None:
    bench.tea.add(name="brew", ends=None)
    async with watching(bench) as eyes:
        await eyes.press("r")
        await eyes.until(lambda: eyes.notices == ["“brew” is still running; you can resume it when it has ended."])


async def test_what_prevents_a_resumption_is_said(bench: Bench) -> None:
    bench.tea.add(name="brew", cwd=bench.tea.project / "gone")
    async with watching(bench) as eyes:
        await eyes.reach("r", TextArea)
        await eyes.press(*"go", "enter")
        await eyes.until_seen("choose another directory with --cwd")


# --- y, o, e ---------------------------------------------------------------------------------------------------


async def test_y_copies_the_whole_final_text(bench: Bench) -> None:
    bench.tea.add(says("Before"), says("The\x1b[2J answer\n" * 400), name="brew")
    async with watching(bench) as eyes:
        await eyes.press("y")
        await eyes.until(lambda: eyes.app.clipboard == "The answer\n" * 400)
        await eyes.until(
            lambda: eyes.notices == ["Copied 4400 characters, if your terminal allows programs to (OSC 52)."]
        )


async def test_y_says_where_there_is_nothing_to_copy(bench: Bench) -> None:
    kept = bench.tea.add(name="brew", ends=None)
    async with watching(bench) as eyes:
        await eyes.press("y")
        await eyes.until(lambda: eyes.notices == ["“brew” has said nothing yet."])
        kept.append(ending(Reason.SETTLED, None, 5))
        kept.let_go()
        await eyes.until_seen("✓ brew")
        await eyes.press("y")
        await eyes.until(lambda: "“brew” has left no text." in eyes.notices)
        assert eyes.app.clipboard == ""


async def test_o_names_the_run_directory(bench: Bench) -> None:
    kept = bench.tea.add(name="brew")
    async with watching(bench) as eyes:
        await eyes.press("o")
        await eyes.until(lambda: eyes.notices == [f"The run directory, also on the clipboard: {kept.run_dir}"])
        await eyes.until(lambda: eyes.app.clipboard == str(kept.run_dir))


async def test_e_writes_the_page_and_says_where(bench: Bench) -> None:
    kept = bench.tea.add(says("The answer"), name="brew")
    page = bench.place.cwd / f"{kept.session_id}.html"
    async with watching(bench) as eyes:
        await eyes.press("e")
        await eyes.until(lambda: any(f"Wrote {page}" in notice for notice in eyes.notices))
        assert "The answer" in page.read_text()


async def test_e_does_not_write_through_a_link_that_waits_for_the_page(bench: Bench, tmp_path: Path) -> None:
    kept = bench.tea.add(says("The answer"), name="brew")
    (tmp_path / "precious").write_text("precious")
    (bench.place.cwd / f"{kept.session_id}.html").symlink_to(tmp_path / "precious")
    async with watching(bench) as eyes:
        await eyes.press("e")
        await eyes.until(lambda: eyes.notices)
        assert "is a link" in eyes.notices[0]
        assert (tmp_path / "precious").read_text() == "precious"


async def test_e_says_what_went_wrong(bench: Bench) -> None:
    kept = bench.tea.add(says("The answer"), name="brew")
    (bench.place.cwd / f"{kept.session_id}.html").mkdir()
    async with watching(bench) as eyes:
        await eyes.press("e")
        await eyes.until(lambda: any("cannot write" in notice for notice in eyes.notices))
