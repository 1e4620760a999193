"""What can be done with a run, key by key, and what is said about it."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Button, TextArea

from pi_subagents.models import Status
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.store import load_run, session_runs, stop_request
from pi_subagents.surfaces.watch.dialogs import Confirmation, PromptDialog
from tests.kit.sessions import Kept, says
from tests.surfaces.watch.kit import Bench, watching


def latest(kept: Kept) -> Path:
    return session_runs(kept.run_dir.parent, kept.session_id)[-1]


async def test_x_asks_and_only_a_clear_yes_asks_the_holder_to_stop(bench: Bench) -> None:
    clicked, *others = [bench.tea.add(name=f"brew {number}", ends=None, age_s=10 + number) for number in range(4)]
    async with watching(bench) as eyes:
        for key in ("n", "escape", "q", "enter"):
            await eyes.reach("x", Button)
            await eyes.until_seen("Stop “brew 0”?", "Stop it (y)")
            await eyes.press(key)
            await eyes.until_closed(Confirmation)
        assert not any(stop_request(kept.run_dir) for kept in (clicked, *others))
        await eyes.reach("x", Button)
        await eyes.pilot.click("#yes")
        await eyes.until(lambda: stop_request(clicked.run_dir) == CANCELLED_SENTENCE)
        for kept, keys in zip(others, (["y"], ["tab", "enter"], ["right", "enter"]), strict=True):
            await eyes.press("down")
            await eyes.reach("x", Button)
            assert stop_request(kept.run_dir) is None
            await eyes.press(*keys)
            await eyes.until_noticed(f"“{kept.state.name}” was asked to stop.")
            assert stop_request(kept.run_dir) == CANCELLED_SENTENCE


async def test_keys_that_a_run_is_not_made_for_say_so(bench: Bench) -> None:
    bench.tea.add(name="brewing", ends=None)
    brewed = bench.tea.add(name="brewed", age_s=60)
    async with watching(bench) as eyes:
        await eyes.until(lambda: eyes.app.list.chosen and eyes.app.list.chosen.state.harness)
        for key, notice in (
            ("r", "“brewing” is still running; you can resume it when it has ended."),
            ("y", "“brewing” has said nothing yet."),
            ("s", "uses the harness pi-json"),
            ("down", ""),
            ("x", "“brewed” has already ended."),
            ("s", "“brewed” has already ended; r resumes it."),
            ("y", "“brewed” has left no text."),
            ("o", f"The run directory, also on the clipboard: {brewed.run_dir}"),
        ):
            assert eyes.app.clipboard == ""
            await eyes.press(key)
            await eyes.until_noticed(notice)
        await eyes.until(lambda: eyes.app.clipboard == str(brewed.run_dir))


async def test_r_goes_on_with_a_session_where_that_is_possible_and_shows_it(bench: Bench) -> None:
    kept = bench.tea.add(says("First answer"), name="brew", profile=None, age_s=10)
    bench.tea.add(name="lost", cwd=bench.tea.project / "gone", age_s=60)
    async with watching(bench) as eyes:
        for keys in (["escape"], ["enter", "escape"], ["space", "enter", "escape"]):
            await eyes.reach("r", TextArea)
            await eyes.press(*keys)
            await eyes.until_closed(PromptDialog)
        assert latest(kept) == kept.run_dir
        await eyes.press("down")
        await eyes.until_chosen("lost")
        await eyes.reach("r", TextArea)
        await eyes.press(*"go", "enter")
        await eyes.until_seen("choose another directory with --cwd")
        await eyes.press("escape")
        await eyes.until_closed(PromptDialog)
        await eyes.press("up")
        await eyes.until_chosen("brew")
        await eyes.reach("r", TextArea)
        await eyes.press(*"More", "ctrl+j", *"please", "enter")
        # First what is said in the corner: it is there for some seconds only.
        await eyes.until_noticed("“brew” continues, even when you quit.")
        await eyes.until(lambda: latest(kept) != kept.run_dir and load_run(latest(kept)).status.is_terminal)
        state = load_run(latest(kept))
        assert (state.status, state.prompt, state.name) == (Status.COMPLETED, "More\nplease", "brew")
        assert state.background
        await eyes.until_told("run 2 of session")


async def test_y_copies_the_whole_answer_and_e_writes_the_page_but_through_no_link(
    bench: Bench, tmp_path: Path
) -> None:
    answer = says("The\x1b[2J answer\n" * 400)
    kept, linked, taken = (bench.tea.add(says("Before"), answer, name="brew", age_s=10 + n) for n in range(3))
    pages = [bench.place.cwd / f"{each.session_id}.html" for each in (kept, linked, taken)]
    (tmp_path / "precious").write_text("precious")
    pages[1].symlink_to(tmp_path / "precious")
    pages[2].mkdir()
    async with watching(bench) as eyes:
        await eyes.press("y")
        await eyes.until(lambda: eyes.app.clipboard == "The answer\n" * 400)
        await eyes.until_noticed("Copied 4400 characters, if your terminal allows programs to (OSC 52).")
        for said in (f"Wrote {pages[0]}", "is a link", "cannot write"):
            await eyes.press("e")
            await eyes.until_noticed(said)
            await eyes.press("down")
    assert "The answer" in pages[0].read_text()
    assert (tmp_path / "precious").read_text() == "precious"
