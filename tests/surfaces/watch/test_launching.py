"""Agents that are started, steered and resumed from the screen: they work in the background, whatever becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.widgets import OptionList, TextArea

from pi_subagents.models import Reason, Status
from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.runs.run import Run
from pi_subagents.store import is_held, list_runs, load_run, request_stop
from pi_subagents.surfaces.watch.actions import resume
from pi_subagents.surfaces.watch.dialogs import PromptArea, StartDialog
from pi_subagents.testing import MODELS_VARIABLE, SCRIPT_VARIABLE, SCRIPTED_AGENT, prints, script
from pi_subagents.testing.agent import repeats_steering, touches
from tests.kit.sessions import Shelf
from tests.kit.waiting import until
from tests.surfaces.watch.kit import Bench, Eyes, watching

_SETTLED = prints({"type": "agent_end"}, {"type": "agent_settled"})


def with_variables(bench: Bench, **variables: str) -> None:
    bench.place = replace(bench.place, environ={**bench.place.environ, **variables})


def write_preset(project: Path, name: str, model: str = "acme/large", about: str = "Works.") -> None:
    folder = project / ".pi" / "subagents"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\nname: {name}\ndescription: {about}\nmodel: {model}\n---\n")


def dialog_text(eyes: Eyes) -> str:
    """What the dialog says, without its frame and line breaks."""
    return " ".join(eyes.screen.replace("│", " ").split())


async def test_n_starts_an_agent_in_the_background_that_no_filter_hides_and_that_s_can_tell_something(
    bench: Bench, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    write_preset(bench.tea.project, "worker")
    bench.tea.add(name="spilt", ends=Reason.TIMEOUT)
    with_variables(
        bench, **{MODELS_VARIABLE: "acme/large", SCRIPT_VARIABLE: script(touches(ready), repeats_steering(), _SETTLED)}
    )
    async with watching(bench) as eyes:
        await eyes.press("f", "f", "f")
        await eyes.until_seen("only failed")
        await eyes.reach("n", OptionList)
        await eyes.until_seen("A new agent in", "worker  preset  Works.")
        await eyes.press("down")
        await eyes.reach("enter", PromptArea)
        await eyes.press(*"Make tea", "enter")
        await eyes.until_noticed("It keeps running when you quit.")
        await eyes.until(ready.exists, "the agent is at work")
        await eyes.until_told("Make tea • worker")
        await eyes.until_listed("Make tea", "worker")
        assert set(eyes.names) == {"Make tea", "spilt"}
        (run_dir,) = (run.run_dir for run in eyes.app.list.runs if run.state.name == "Make tea")
        # The list is read apart from the conversation, and may still have it in the queue.
        await eyes.until(
            lambda: (
                [run.state.status for run in eyes.app.list.runs if run.run_dir == run_dir] == [Status.RUNNING]
                and eyes.app.list.chosen
                and eyes.app.list.chosen.run_dir == run_dir
            ),
            "it is chosen and at work",
        )
        await eyes.reach("s", TextArea)
        await eyes.press(*"Green", "enter")
        await eyes.until_noticed("“Make tea” reads it before its next turn, if there is one.")
        await eyes.until_told("Green")
    until(lambda: not is_held(run_dir), "it ends by itself")
    state = load_run(run_dir)
    assert (state.text, state.preset, state.background, state.owner) == ("Green", "worker", True, "terminal")


async def test_agents_are_those_of_the_chosen_runs_project_or_of_this_one_and_what_prevents_a_start_is_said(
    bench: Bench,
) -> None:
    bench.parser.add(name="parse")
    write_preset(bench.parser.project, "there")
    for number in range(9):
        write_preset(bench.tea.project, f"worker{number}", "acme/none", "Works at many things and tells of them. " * 5)
    with_variables(bench, **{MODELS_VARIABLE: "acme/large"})
    async with watching(bench, (120, 40)) as eyes:
        await eyes.reach("n", OptionList)
        await eyes.until(lambda: f"Anewagentin{bench.parser.project}ctrl+o" in "".join(dialog_text(eyes).split()))
        await eyes.until_seen("there  preset")
        await eyes.press("ctrl+o")
        await eyes.until(lambda: f"Anewagentin{bench.tea.project}ctrl+o" in "".join(dialog_text(eyes).split()))
        await eyes.until_seen("plain pi, without a profile", *(f"worker{number}  preset  Works" for number in range(9)))
        await eyes.press("down")
        await eyes.reach("enter", PromptArea)
        await eyes.press("enter")
        await eyes.until(lambda: "Type something first, or press esc to cancel." in dialog_text(eyes))
        await eyes.press(*"Make tea", "enter")
        await eyes.until(lambda: 'Unknown model: "acme/none"' in dialog_text(eyes), "the problem is said")
        assert "Make tea" in dialog_text(eyes)
        await eyes.press("escape")
        await eyes.until_closed(StartDialog)
    assert list_runs(runs_dir(bench.tea.project)) == []


def test_the_session_that_was_selected_goes_on_though_the_project_at_hand_has_one_of_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_AGENT_DIR", str(tmp_path / "agent"))
    monkeypatch.setenv(*SCRIPTED_AGENT)
    here, there = (Shelf(tmp_path / name, tmp_path / "agent") for name in ("here", "there"))
    mine = here.add(age_s=9)
    selected = there.add(session_id=mine.session_id, age_s=8)
    state = resume(Place.here(here.project), Run.load(selected.run_dir), "Go on", print)
    run_dir = runs_dir(there.project) / state.run_id
    request_stop(run_dir, "seen enough")
    until(lambda: not is_held(run_dir), "it is over")
    assert (len(here.runs), len(there.runs)) == (1, 2)
