"""`pi-subagents setup`: what it gets, whom it asks, and in which state it leaves a machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi_subagents.offline import Say, Script
from tests.pi.stage import Play
from tests.surfaces.cli.machine import NO_MODELS, NODE, TWO_MODELS, Machine
from tests.surfaces.cli.test_install_pi import NPM
from tests.surfaces.cli.typist import CTRL_C, CTRL_D, Typist

TASK_QUESTION = "Run a first task?"


@pytest.fixture
def bare(machine: Machine) -> Machine:
    """A machine with node, npm, rg and Cursor, and no pi."""
    machine.add_node()
    machine.add_program("npm", NPM)
    machine.add_program("rg")
    (machine.home / ".cursor").mkdir()
    return machine


def everything_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_where_nobody_can_be_asked_it_brings_pi_and_says_what_it_left_out(bare: Machine) -> None:
    done = bare.run("setup")
    assert done.returncode == 0
    assert "setup: fetching pi" in done.stderr
    assert "✓ pi              0.87.1" in done.stdout
    assert "✓ model           2 available from" in done.stdout
    for left_out in ("install pi", "install mcp --client cursor", 'run "Say in three sentences'):
        assert f"skipped  → run: pi-subagents {left_out}" in done.stdout
    ready, next_step = done.stdout.splitlines()[-2:]
    assert ready == "Ready: sub-agents can run here."
    assert next_step.startswith('Try it: pi-subagents run "Find')
    assert everything_in(bare.home) == {}


def test_yes_asks_nothing_and_does_it_all_and_a_second_time_changes_nothing(play: Play, tmp_path: Path) -> None:
    stage = play(Script().otherwise([Say("A project about tea.")]))
    home = tmp_path / "home of a user"
    (home / ".cursor").mkdir(parents=True)
    stage.environ["HOME"] = str(home)
    first = stage.command("setup", "--yes")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "A project about tea." in first.stdout
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())
    assert "pi-subagents" in entry["mcpServers"]
    assert (stage.agent_dir / "extensions" / "pi-subagents" / "tools.json").exists()
    before = everything_in(home)
    again = stage.command("setup", "--yes")
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stdout.count("the tools") == first.stdout.count("the tools")
    assert everything_in(home) == before


def test_without_a_model_nothing_is_ready_and_the_demo_is_what_is_left(bare: Machine) -> None:
    bare.add_node(models=NO_MODELS)
    done = bare.run("setup", "--yes")
    assert done.returncode == 1
    assert "→ run `pi-subagents pi` and type `/login`" in done.stdout
    assert "skipped  → run: pi-subagents demo (needs no model)" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Not ready: model.")


def test_a_person_without_a_model_is_led_to_pi_and_back(bare: Machine) -> None:
    login = bare.home / "logged-in"
    answer = f'if [ -e "{login}" ]; then {TWO_MODELS}; else {NO_MODELS}; fi'
    node = NODE.format(version="22.19.0", version_answer="echo 0.87.1", models_answer=answer)
    bare.add_program("node", f'{node}[ $# = 1 ] && echo "this is pi" && > "{login}"\nexit 0\n')
    person = Typist(bare, "setup", NO_COLOR="1")
    assert person.answer("", "n", "n", "n") == 0  # pi, its extension, Cursor, the task
    assert "this is pi\n" in person.screen
    assert "✓ model           2 available from" in person.screen


@pytest.mark.parametrize(("key", "exit_code"), [(CTRL_C, 130), (CTRL_D, 1)], ids=["ctrl+c", "ctrl+d"])
def test_it_can_be_left_at_any_question_and_goes_on_from_there(bare: Machine, key: str, exit_code: int) -> None:
    for answers in ((), ("n",), ("n", "yes")):
        person = Typist(bare, "setup", NO_COLOR="1")
        assert person.answer(*answers, key) == exit_code
        assert person.screen.endswith("Stopped. Finished steps are kept; to continue: pi-subagents setup\n")
    last = Typist(bare, "setup", NO_COLOR="1")
    assert last.answer("n", "n") == 0  # pi's extension and the task: Cursor has been done
    assert "✓ Cursor          has the tools\n" in last.screen
    assert not list(bare.data.glob(".scratch-*"))


def test_a_configuration_that_cannot_be_changed_does_not_stop_the_rest(bare: Machine) -> None:
    bare.write(bare.home / ".cursor" / "mcp.json", "{ broken")
    (bare.home / ".gemini").mkdir()
    person = Typist(bare, "setup", NO_COLOR="1")
    assert person.answer("n", "", "n") == 0  # pi's extension, Gemini, the task
    assert "! Cursor" in person.screen
    assert "cannot be edited safely" in " ".join(person.screen.split())
    assert (bare.home / ".gemini" / "settings.json").exists()
