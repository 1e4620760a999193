"""Session ids in the shell, and what `--help` promises."""

from __future__ import annotations

import shutil

import pytest

from tests.kit.sessions import Shelf
from tests.surfaces.cli.session_desk import Desk

COMMANDS = ("show", "output", "resume", "stop", "export", "delete")


def complete(desk: Desk, *words: str) -> list[str]:
    line = ["pi-subagents", "sessions", *words]
    variables = {
        "_PI_SUBAGENTS_COMPLETE": "zsh_complete",
        "COMP_WORDS": " ".join(line),
        "COMP_CWORD": str(len(line) - 1),
    }
    done = desk.run(variables=variables)
    assert done.err == ""
    return done.out.splitlines()


@pytest.mark.parametrize("command", COMMANDS)
def test_ids_are_completed_newest_first_with_their_names(desk: Desk, command: str) -> None:
    desk.shelf.add(session_id="aaaa1111aaaaaaaa", name="older", age_s=20)
    desk.shelf.add(session_id="bbbb1111aaaaaaaa", name="newer\x1b[2J", age_s=10)
    assert complete(desk, command, "") == ["plain", "bbbb1111", "newer", "plain", "aaaa1111", "older"]
    assert complete(desk, command, "a") == ["plain", "aaaa1111", "older"]
    assert complete(desk, command, "aaaa1111") == ["plain", "aaaa1111aaaaaaaa", "older"]


def test_ids_of_other_projects_are_completed_too(desk: Desk) -> None:
    Shelf(desk.root / "other", desk.shelf.agent_dir).add(session_id="aaaa1111aaaaaaaa")
    assert complete(desk, "show", "aa") == ["plain", "aaaa1111", "task"]


def test_a_broken_index_does_not_print_into_the_line(desk: Desk) -> None:
    desk.shelf.add(session_id="aaaa1111aaaaaaaa", indexed=False)
    shutil.rmtree(desk.shelf.agent_dir / "subagents")
    (desk.shelf.agent_dir / "subagents").write_text("in the way")
    assert complete(desk, "show", "aa")[:2] == ["plain", "aaaa1111"]


def test_help_lists_the_commands_and_names_the_exit_codes(desk: Desk) -> None:
    listed = desk.run("--help").out
    for command in ("list", "clean", "reindex", *COMMANDS):
        assert f"\n  {command} " in listed
        assert "exit code 0" in " ".join(desk.run(command, "--help").out.split()).lower()


def test_a_misspelt_command_is_understood(desk: Desk) -> None:
    done = desk.run("lst")
    assert done.exit_code == 2
    assert "Did you mean 'list'?" in done.err
    assert "Run 'pi-subagents sessions --help' for the list." in desk.run("xyzzy").err
