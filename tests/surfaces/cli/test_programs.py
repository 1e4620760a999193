"""`agents --programs`, with stand-ins for the agents."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest

from pi_subagents.harness import AGENTS, harness_named
from pi_subagents.harness.capabilities import CAPABILITIES
from pi_subagents.harness.programs import PACKAGES
from tests.surfaces.cli.machine import Machine, Typist

CLAUDE = """#!/bin/sh
echo "$*" >> "${0%/*}/claude-calls"
echo "2.0.7 (Claude Code)"
"""


@pytest.fixture
def equipped(machine: Machine) -> Machine:
    """A machine with pi and Claude Code."""
    machine.add_pi()
    machine.add_program("claude", CLAUDE)
    return machine


def programs(machine: Machine) -> dict[str, Any]:
    done = machine.run("agents", "--programs", "--json")
    assert done.returncode == 0, done.stderr
    return {row["agent"]: row for row in json.loads(done.stdout)}


def test_each_agent_is_there_with_its_program_version_and_login(equipped: Machine) -> None:
    equipped.variables["ANTHROPIC_API_KEY"] = "sk-test"
    found = programs(equipped)
    assert set(found) == set(AGENTS)
    claude = {key: value for key, value in found["claude"].items() if key != "can"}
    assert claude == {
        "agent": "claude",
        "program": [f"{equipped.bin}/claude"],
        "foundIn": "PATH",
        "version": "2.0.7",
        "testedVersion": PACKAGES["claude"].tested,
        "credentials": "key in ANTHROPIC_API_KEY",
    }
    assert found["pi"]["version"] == "0.87.1"
    assert (found["codex"]["program"], found["codex"]["version"], found["codex"]["credentials"]) == (None, None, None)


@pytest.mark.parametrize(
    ("files", "variables", "credentials"),
    [
        ({"auth.json": "{}\n"}, {}, None),
        ({"auth.json": '{"anthropic": {"type": "oauth"}}'}, {}, "logged in"),
        ({"auth.json": "{}"}, {"GROQ_API_KEY": "sk-test"}, "key in GROQ_API_KEY"),
        ({"models.json": '{"providers": {"mine": {"apiKey": "sk-test"}}}'}, {}, "key in models.json"),
    ],
    ids=["nothing yet", "a login", "a key", "a provider of one's own"],
)
def test_pi_is_logged_in_when_it_has_a_login_or_a_key(
    files: dict[str, str], variables: dict[str, str], credentials: str | None, equipped: Machine
) -> None:
    for name, text in files.items():
        equipped.write(equipped.agent_dir / name, text)
    equipped.variables |= variables
    assert programs(equipped)["pi"]["credentials"] == credentials
    hinted = "hint: pi: to log in: " in equipped.run("agents", "--programs").stderr
    assert hinted is (credentials is None)


@pytest.mark.parametrize("agent", [name for name in AGENTS if name != "pi"])
def test_what_an_agent_can_do_is_what_its_harness_says(agent: str, machine: Machine) -> None:
    can = programs(machine)[agent]["can"]
    assert can == {capability.name: capability.is_had_by(harness_named(agent)) for capability in CAPABILITIES}
    assert can["steer"] is harness_named(agent).can_steer


def test_a_program_is_asked_for_its_version_once(equipped: Machine) -> None:
    programs(equipped)
    programs(equipped)
    assert (equipped.bin / "claude-calls").read_text(encoding="utf-8") == "--version\n"


def test_people_see_two_tables_that_fit_a_terminal_of_80_columns_and_how_to_log_in(equipped: Machine) -> None:
    person = Typist(equipped, "agents", "--programs", columns=80)
    assert person.answer() == 0
    lines = [line.rstrip() for line in click.unstyle(person.screen).splitlines()]
    tables = [line for line in lines if not line.startswith("hint: ")]
    assert max(map(len, tables)) <= 80
    assert [line.split() for line in tables if line.startswith(("agent ", "claude "))] == [
        ["agent", "version", "tested", "credentials", "found"],
        ["claude", "2.0.7", PACKAGES["claude"].tested, "–", "PATH"],
    ]
    assert next(line.split() for line in tables if line.startswith("can "))[:3] == ["can", "pi", "claude"]
    assert "hint: claude: to log in: run `claude` and type `/login`, or set ANTHROPIC_API_KEY" in lines
    assert "hint: to install one: pi-subagents install-agent codex" in lines


def test_one_that_does_not_start_hides_no_other(equipped: Machine) -> None:
    equipped.add_program("codex", "#!/bin/sh\nexit 1\n")
    found = programs(equipped)
    assert (found["codex"]["program"], found["codex"]["version"]) == ([f"{equipped.bin}/codex"], None)
    assert found["claude"]["version"] == "2.0.7"
