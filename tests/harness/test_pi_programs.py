"""Which `pi` is started: the first of the documented places, and what is named there taken as it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness.pi.checks import node_command
from pi_subagents.harness.pi.programs import PI_VARIABLE, find_pi


def found(value: str) -> tuple[str, ...]:
    return find_pi(None, {PI_VARIABLE: value, "PATH": "/nowhere"}).argv


@pytest.mark.parametrize(
    ("value", "argv"),
    [("pi --offline", ("pi", "--offline")), ("./pi.sh x", ("./pi.sh", "x")), ("'a b'/pi", ("a b/pi",))],
)
def test_the_variable_is_taken_as_it_is(value: str, argv: tuple[str, ...]) -> None:
    assert found(value) == argv


def test_the_home_directory_is_understood() -> None:
    assert found("~/bin/pi") == (str(Path.home() / "bin" / "pi"),)


@pytest.mark.parametrize("value", ["pi 'open", "''", "\\"])
def test_a_variable_that_is_no_command_is_a_sentence(value: str) -> None:
    with pytest.raises(AgentNotFound, match=f"The variable {PI_VARIABLE} is not a command"):
        found(value)


# --- the Node that it runs on, read from the many forms in which pi is put on a PATH -------------------------

PNPM_SHIM = """#!/bin/sh
basedir=$(dirname "$(echo "$0" | sed -e 's,\\\\,/,g')")
if [ -x "$basedir/node" ]; then
  exec "$basedir/node"  "$basedir/../pi/cli.js" "$@"
else
  exec node  "$basedir/../pi/cli.js" "$@"
fi
"""


@pytest.mark.parametrize(
    ("script", "node"),
    [
        ("#!/usr/bin/env node\nimport x from 'node';", "node"),
        ("#!/opt/node/bin/node\n", "/opt/node/bin/node"),
        ("#!/usr/bin/env -S node --no-warnings\n", "node"),
        ('#!/bin/sh\nexec /opt/node/bin/node /opt/cli.js "$@"\n', "/opt/node/bin/node"),
        ("#!/bin/sh\nexec '/opt/my node/bin/node' /opt/cli.js \"$@\"\n", "/opt/my node/bin/node"),
        (PNPM_SHIM, "node"),
        ('#!/bin/sh\nexec something-else "$@"\n', "node"),
    ],
)
def test_a_script_names_its_node(script: str, node: str, tmp_path: Path) -> None:
    pi = tmp_path / "pi"
    pi.write_text(script, encoding="utf-8")
    pi.chmod(0o755)
    assert node_command([str(pi)], "") == node
    assert node_command(["pi"], str(tmp_path)) == node


@pytest.mark.parametrize(
    ("argv", "node"),
    [
        (["/opt/node/bin/node", "cli.js"], "/opt/node/bin/node"),
        ([str(Path(sys.executable).resolve())], None),  # a compiled program needs none
        (["/nowhere/pi"], "node"),  # what is not there is supposed to need one
    ],
)
def test_any_other_command_is_taken_at_its_word(argv: list[str], node: str | None) -> None:
    assert node_command(argv, "") == node
