"""What is loaded before an agent is started: every module delays every agent that is started from a command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.waiting import PATIENCE_S
from tests.kit.workplace import Workplace

# Prints what is loaded at the moment when the first agent is started, and ends.
_TELLING = """
import os, sys
os.dup2(1, 3)
def tell(event, arguments):
    if event == "subprocess.Popen" and "--mode" in arguments[1]:
        os.write(3, " ".join(name for name, module in sys.modules.items() if module is not None).encode())
        os._exit(0)
sys.addaudithook(tell)
sys.argv = ["pi-subagents", *sys.argv[1:]]
from pi_subagents.surfaces.cli import run_program
run_program()
"""
_TASK = json.dumps({"tasks": [{"name": "one", "prompt": "[]"}]})
CALLS = {"call": ("call", "delegate_to_subagents", _TASK), "run": ("run", "[]")}

LIBRARIES = {
    *(
        "email",
        "html",
        "http",
        "markdown_it",
        "mcp",
        "hashlib",
        "random",
        "rich",
        "ruamel",
        "sqlite3",
        "ssl",
        "textual",
        "wcwidth",
    ),
}
NOT_FOR_A_CALL = {"click", "dataclasses", "json", "shutil", "typing_extensions"}
"""Quick to load one by one. A program that calls a tool needs no parser, and what a person sees is not its business."""
OURS = {
    f"pi_subagents.{name}"
    for name in (
        *("background.keeper", "background.launch", "delegation.configuration", "delegation.offered_models"),
        *("delegation.panes", "delegation.retelling", "export.html", "profiles.frontmatter", "runs.retention"),
        *("skills.discovery", "store.index", "tools.background", "tools.retrieval", "tools.subagent"),
    )
}
MOST_MODULES = 108
"""Of our own. Before you raise the number, see whether what you have added can be loaded while the agent works."""


def run_code(workplace: Workplace, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the workplace's user in an interpreter that has loaded nothing."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=workplace.environ,
        cwd=workplace.project,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )


def loaded_at_start(workplace: Workplace, *arguments: str) -> set[str]:
    """The modules that the command had loaded when it was about to start an agent."""
    return set(run_code(workplace, _TELLING, *arguments).stdout.split())


@pytest.mark.cold
@pytest.mark.parametrize("kind", CALLS)
def test_an_agent_is_started_before_anything_is_loaded_that_it_does_not_need(kind: str, tmp_path: Path) -> None:
    loaded = loaded_at_start(Workplace(tmp_path), *CALLS[kind])
    assert "pi_subagents.runners.local" in loaded
    assert sorted(loaded & (LIBRARIES | OURS)) == []
    assert kind == "run" or not loaded & NOT_FOR_A_CALL
    ours = {name for name in loaded if name.startswith("pi_subagents")}
    assert len(ours) <= MOST_MODULES, sorted(ours)


@pytest.mark.cold
@pytest.mark.parametrize("command", [("--help",), ("mcp", "--help"), ("bridge", "--help")])
def test_what_starts_no_agent_at_once_loads_nothing_in_advance(command: tuple[str, ...], tmp_path: Path) -> None:
    done = run_code(Workplace(tmp_path), f"{_AT_THE_END}\n{_PROGRAM}", *command)
    assert not {"msgspec", "asyncio"} & set(done.stderr.split())


@pytest.mark.cold
def test_a_tool_that_waits_for_nothing_is_called_without_an_event_loop(tmp_path: Path) -> None:
    done = run_code(Workplace(tmp_path), f"{_AT_THE_END}\n{_PROGRAM}", "call", "list_subagent_profiles")
    assert json.loads(done.stdout)["details"] == {"count": 0}
    # What was registered for the end of the process is called, though the interpreter is not taken apart.
    loaded = set(done.stderr.split())
    assert "pi_subagents.tools.profiles" in loaded
    assert not loaded & {"asyncio", "pi_subagents.delegation.delegation", "pi_subagents.store.index"}


_AT_THE_END = "import atexit, sys; atexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))"
_PROGRAM = """
sys.argv = ["pi-subagents", *sys.argv[1:]]
from pi_subagents.surfaces.cli import run_program
run_program()
"""
