"""Asking pi for its version: once per program file; and what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.delegation.program_facts import ProgramVersion
from pi_subagents.harness import Program
from pi_subagents.harness.pi.pi import Pi
from pi_subagents.harness.pi.programs import NEWEST_KNOWN, line_of, version_in
from pi_subagents.place import Place

PROGRAM = """#!/bin/sh
echo "$*" >> "{asked}"
{answer}
"""


class Machine:
    """A program in the place of pi that says its version and counts how often it is asked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.program = root / "pi"
        self.answer("echo 1.5.0")

    def answer(self, command: str) -> None:
        self.program.write_text(PROGRAM.format(asked=self.root / "asked", answer=command))
        self.program.chmod(0o755)

    @property
    def version(self) -> tuple[int, ...] | None:
        """What a call of its own would find."""
        environ = {"PATH": "/usr/bin:/bin", "PI_AGENT_DIR": str(self.root / "agent")}
        place = Place.here(self.root, environ)
        return ProgramVersion(Pi().version_question(Program((str(self.program),), "test"), place), place).value

    @property
    def asked(self) -> list[str]:
        return (self.root / "asked").read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_program_is_asked_once(machine: Machine) -> None:
    assert [machine.version, machine.version] == [(1, 5, 0), (1, 5, 0)]
    assert machine.asked == ["--version"]


def test_another_program_file_is_asked_again(machine: Machine) -> None:
    assert machine.version == (1, 5, 0)
    machine.answer("echo version 0.87.1 of pi")
    assert machine.version == (0, 87, 1)
    assert machine.asked == ["--version", "--version"]


@pytest.mark.parametrize("answer", ["echo hello", "echo 1.5.0; exit 3", "kill -9 $$", "echo 1.5"])
def test_a_program_that_does_not_say_is_asked_again(answer: str, machine: Machine) -> None:
    machine.answer(answer)
    assert [machine.version, machine.version] == [None, None]
    assert len(machine.asked) == 2


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.87.1", (0, 87, 1)),
        ("pi v1.5.0-beta.2\n", (1, 5, 0)),
        ("Now using node v22.19.0 (npm v10.9.3)\n0.87.1\n", (0, 87, 1)),
        ("", None),
        ("9" * 5000 + ".1.1", None),
    ],
)
def test_a_version_is_found_in_what_the_program_says(text: str, version: tuple[int, ...] | None) -> None:
    assert version_in(text) == version


@pytest.mark.parametrize(
    ("version", "insists"),
    [
        (None, False),
        ((-5, 0, 0), False),
        ((0, 74, 2), False),
        ((0, 87, 1), False),
        ((1, 0, 0), True),
        (NEWEST_KNOWN, True),
        ((9, 0, 0), True),
    ],
)
def test_a_version_that_nobody_knows_yet_is_treated_like_the_newest_known(
    version: tuple[int, int, int] | None, insists: bool
) -> None:
    line = line_of(version)
    assert (line.provider_needs_model, line.starts_mcp_servers) == (insists, insists)
