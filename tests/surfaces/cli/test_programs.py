"""`agents --programs`, with stand-ins for the agents."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import click
import pytest

from pi_subagents.harness import AGENTS, harness_named
from pi_subagents.harness.capabilities import CAPABILITIES
from pi_subagents.harness.programs import PACKAGES, variable_of
from scripts.bootstrap import AGENTS as AGENTS_OF_TESTS
from scripts.bootstrap import Agent
from tests.surfaces.cli.machine import Machine, Typist, diagnose

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
        "problem": None,
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


REAL = [
    pytest.param(agent, id=agent.name, marks=pytest.mark.skipif(not agent.program, reason=f"no {agent.pin}"))
    for agent in AGENTS_OF_TESTS
]


@pytest.mark.parametrize("agent", REAL)
@pytest.mark.parametrize("command", [("agents", "--programs"), ("doctor",)], ids=["agents", "doctor"])
def test_a_real_agent_that_is_looked_at_leaves_nothing_with_the_user(
    command: Sequence[str], agent: Agent, machine: Machine
) -> None:
    machine.variables[variable_of(agent.name)] = str(agent.program)
    machine.variables["PATH"] = f"{machine.bin}:{os.environ['PATH']}"
    machine.variables["TMPDIR"] = str(machine.root / "tmp")
    (machine.root / "tmp").mkdir()
    shown = machine.run(*command).stdout
    assert next(
        line for line in shown.splitlines() if agent.name in line.split()[:2] and PACKAGES[agent.name].tested in line
    )
    left = {path for folder in (machine.home, machine.root / "tmp") for path in folder.iterdir()}
    assert left <= {machine.home / ".pi"}  # where we remember versions


COPILOT = """#!/bin/sh
for folder in "$TMPDIR" "${COPILOT_HOME:-$HOME/.copilot}" "${XDG_CACHE_HOME:-$HOME/.cache}/copilot"; do
    /bin/mkdir -p "$folder"
    echo > "$folder/unpacked"
done
echo 1.0.102
"""


def test_nor_does_copilot_unpack_itself_there(machine: Machine) -> None:
    machine.add_program("copilot", COPILOT)
    assert programs(machine)["copilot"]["version"] == "1.0.102"
    assert [path.name for path in machine.home.iterdir()] == [".pi"]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ('a "b', 'The variable PI_SUBAGENTS_CLAUDE is not a command (No closing quotation): a "b'),
        (
            "/nowhere/claude",
            "claude cannot be started: /nowhere/claude (from the variable PI_SUBAGENTS_CLAUDE) does not exist",
        ),
    ],
)
def test_a_mistake_in_the_users_variable_is_told_and_no_reason_to_install_it(
    value: str, sentence: str, equipped: Machine
) -> None:
    equipped.variables["PI_SUBAGENTS_CLAUDE"] = value
    done = equipped.run("agents", "--programs")
    assert next(line for line in done.stdout.splitlines() if line.startswith("claude ")).endswith(" cannot be used")
    assert f"warning: {sentence}" in done.stderr.splitlines()
    assert "install-agent claude" not in done.stderr
    assert programs(equipped)["claude"]["problem"] == sentence
    finding = diagnose(equipped).one("claude")
    assert (finding["ok"], finding["hint"]) == (False, "correct or unset the variable PI_SUBAGENTS_CLAUDE")
    assert value in finding["detail"]


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


def test_the_rows_are_explained_where_there_is_room_and_else_it_is_said_where(equipped: Machine) -> None:
    narrow, wide = (Typist(equipped, "agents", "--programs", columns=columns) for columns in (80, 200))
    assert (narrow.answer(), wide.answer()) == (0, 0)
    pointer, meaning = "What the rows mean: see docs/reference/agents.md", "takes your messages while it works"
    assert [pointer in screen for screen in (narrow.screen, wide.screen)] == [True, False]
    assert [meaning in screen for screen in (narrow.screen, wide.screen)] == [False, True]
    assert meaning in equipped.run("agents", "--programs").stdout


def test_pi_is_not_offered_to_be_installed_like_the_others(machine: Machine) -> None:
    assert "hint: to install one: pi-subagents install-agent claude" in machine.run("agents", "--programs").stderr


def test_one_that_does_not_start_hides_no_other(equipped: Machine) -> None:
    equipped.add_program("codex", "#!/bin/sh\nexit 1\n")
    found = programs(equipped)
    assert (found["codex"]["program"], found["codex"]["version"]) == ([f"{equipped.bin}/codex"], None)
    assert found["claude"]["version"] == "2.0.7"
