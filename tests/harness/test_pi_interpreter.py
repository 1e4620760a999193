"""Which Node a pi runs on, read from the many forms in which pi is put on a PATH."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi_subagents.harness.pi.checks import node_command

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


def test_a_command_that_begins_with_node_is_taken_at_its_word() -> None:
    assert node_command(["/opt/node/bin/node", "cli.js"], "") == "/opt/node/bin/node"


def test_a_compiled_program_needs_none() -> None:
    assert node_command([str(Path(sys.executable).resolve())], "") is None


def test_a_program_that_is_not_there_is_supposed_to_need_one() -> None:
    assert node_command(["/nowhere/pi"], "") == "node"
