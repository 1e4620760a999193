"""What is written for a client to run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi_subagents.installing import ServerCommand, find_launch


def make_program(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pi-subagents"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Python of an environment, which is a link to another one."""
    elsewhere = make_program(tmp_path / "system").with_name("python")
    elsewhere.touch()
    path = tmp_path / "environment" / "python"
    path.parent.mkdir()
    path.symlink_to(elsewhere)
    monkeypatch.setattr(sys, "executable", str(path))
    return path


def test_it_is_the_program_of_this_installation_whatever_is_on_the_path(interpreter: Path, tmp_path: Path) -> None:
    own, other = make_program(interpreter.parent), make_program(tmp_path / "other")
    assert find_launch({"PATH": str(other.parent)}) == ServerCommand(str(own), ("mcp",))


def test_it_is_the_program_on_the_path_if_there_is_none_beside_python(interpreter: Path, tmp_path: Path) -> None:
    other = make_program(tmp_path / "other")
    assert find_launch({"PATH": str(other.parent)}).command == str(other)


def test_without_a_program_it_is_python_and_the_package(interpreter: Path, tmp_path: Path) -> None:
    assert find_launch({"PATH": str(tmp_path)}) == ServerCommand(str(interpreter), ("-P", "-m", "pi_subagents", "mcp"))


def test_variables_that_lead_to_pi_go_along_and_mean_the_same_everywhere_but_keys_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {
        "PI_AGENT_DIR": "agent",
        "PI_CODING_AGENT_DIR": "~/agent",
        "PI_SUBAGENTS_PI": "npx pi",
        "PI_SUBAGENTS_DATA_DIR": "",
        "PI_API_KEY": "secret",
        "OPENAI_API_KEY": "secret",
    }
    assert find_launch(environ).env == {
        "PI_AGENT_DIR": str(tmp_path / "agent"),
        "PI_CODING_AGENT_DIR": str(Path.home() / "agent"),
        "PI_SUBAGENTS_PI": "npx pi",
    }
