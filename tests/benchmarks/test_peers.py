"""Who competes, and with which settings: a wrong one would be measured all the same."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import peers
from benchmarks.delegation import settings_for


def test_a_peer_needs_a_name_of_its_own_and_a_command() -> None:
    assert peers.named_commands(["other=run --env A=B {n}"], ("bare",)) == {"other": "run --env A=B {n}"}
    for wrong in ("other", "other=", "=run", "bare=run"):
        with pytest.raises(SystemExit, match="name=command"):
            peers.named_commands([wrong], ("bare",))


def test_the_extensions_that_npm_installed_become_commands_of_pi(tmp_path: Path) -> None:
    assert peers.extensions(None) == {}
    with pytest.raises(SystemExit, match="is installed in"):
        peers.extensions(tmp_path)
    package = tmp_path / "node_modules" / peers.PACKAGES[peers.ORIGINAL]
    package.mkdir(parents=True)
    command = f'{{pi}} -e {package / "src" / "index.ts"} -p "Delegate {{n}} tasks"'
    assert peers.extensions(tmp_path) == {peers.ORIGINAL: command}


def test_a_parent_hands_out_its_tasks_with_the_tool_that_it_has() -> None:
    def asks(text: str, *tools: str) -> Any:
        return SimpleNamespace(first_user_text=text, tools=tools)

    assert not peers.delegates(asks("Run the command."))
    parent = asks("Delegate 3 tasks", "bash", "delegate_to_subagents")
    assert peers.delegates(parent)
    (call,) = peers.delegate(parent, "Go").calls
    assert call.arguments["tasks"] == [{"name": f"task {number}", "prompt": "Go"} for number in range(3)]
    calls = peers.delegate(asks("Delegate 2 tasks", "Agent"), "Go").calls
    assert [(one.tool, one.arguments["prompt"]) for one in calls] == [("Agent", "Go")] * 2


def test_only_the_cold_subject_changes_what_comes_with_the_program() -> None:
    assert settings_for("cold", 4) == {"maxProcesses": 4, "warmAgents": False}
    assert settings_for("warm", 4) == settings_for("cli", 4) == {"maxProcesses": 4}
