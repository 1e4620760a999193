"""Which `pi` is started: the first of the documented places, and what is named there taken as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness.pi.programs import PI_VARIABLE, find_pi


def found(value: str, tmp_path: Path) -> tuple[str, ...]:
    return find_pi(None, {PI_VARIABLE: value, "PATH": "/nowhere"}, tmp_path).argv


@pytest.mark.parametrize(
    ("value", "argv"),
    [("pi --offline", ("pi", "--offline")), ("./pi.sh x", ("./pi.sh", "x")), ("'a b'/pi", ("a b/pi",))],
)
def test_the_variable_is_taken_as_it_is(value: str, argv: tuple[str, ...], tmp_path: Path) -> None:
    assert found(value, tmp_path) == argv


def test_the_home_directory_is_understood(tmp_path: Path) -> None:
    assert found("~/bin/pi", tmp_path) == (str(Path.home() / "bin" / "pi"),)


@pytest.mark.parametrize("value", ["pi 'open", "''", "\\"])
def test_a_variable_that_is_no_command_is_a_sentence(value: str, tmp_path: Path) -> None:
    with pytest.raises(AgentNotFound, match=f"The variable {PI_VARIABLE} is not a command"):
        found(value, tmp_path)
