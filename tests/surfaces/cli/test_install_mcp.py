"""`install mcp` and `uninstall mcp`, as they are typed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.surfaces.cli.machine import Machine

PROGRAM = str(Path(sys.executable).with_name("pi-subagents"))
KNOWN = ["claude", "codex", "opencode", "cursor", "vscode", "gemini"]
KEY = "sk-of-another-server"


def test_installing_and_uninstalling_is_told_in_a_sentence_each(machine: Machine) -> None:
    path = machine.write(machine.home / ".claude.json", '{\n  "theme": "dark"\n}')
    installed = machine.run("install", "mcp", "--client", "claude")
    assert (installed.returncode, installed.stdout) == (0, f"added pi-subagents to {path}\nbackup: {path}.bak\n")
    assert "hint: Claude Code starts the server the next time you start it" in installed.stderr
    entry = json.loads(path.read_text())["mcpServers"]["pi-subagents"]
    assert (entry["command"], entry["args"]) == (PROGRAM, ["mcp"])
    again = machine.run("install", "mcp", "--client", "claude")
    assert again.stdout == f"pi-subagents is already in {path}; nothing to do\n"
    gone = machine.run("uninstall", "mcp", "--client", "claude")
    assert gone.stdout == f"restored {path} to what it was before pi-subagents was added\n"
    assert path.read_text() == '{\n  "theme": "dark"\n}'
    assert [file.name for file in machine.home.iterdir()] == [".claude.json"]


def test_a_project_gets_the_name_of_the_program_and_none_of_my_directories(machine: Machine) -> None:
    (machine.project / ".git").mkdir()
    machine.variables["PI_AGENT_DIR"] = str(machine.agent_dir)
    done = machine.run("install", "mcp", "--client", "claude", "--scope", "project", "--json")
    result = json.loads(done.stdout)
    path = machine.project / ".mcp.json"
    assert (result["path"], result["status"], result["changed"]) == (str(path), "created", True)
    entry = {"type": "stdio", "command": "pi-subagents", "args": ["mcp"]}
    assert result["server"] == json.loads(path.read_text())["mcpServers"] == {"pi-subagents": entry}
    assert done.stderr == ""


def test_a_dry_run_prints_the_file_and_the_change_and_writes_nothing(machine: Machine) -> None:
    for command in ("install", "uninstall"):
        path = machine.write(machine.home / ".codex" / "config.toml", 'model = "m"\n')
        if command == "uninstall":
            machine.run("install", "mcp", "--client", "codex")
        before = path.read_text()
        done = machine.run(command, "mcp", "--client", "codex", "--dry-run")
        sign = "+" if command == "install" else "-"
        assert done.stdout.startswith(f"would change {path}:\n\n--- {path}\n+++ {path}\n")
        assert f"\n{sign}[mcp_servers.pi-subagents]\n" in done.stdout
        assert path.read_text() == before


def test_for_other_clients_the_lines_are_printed_with_the_list_of_known_ones(machine: Machine) -> None:
    done = machine.run("install", "mcp")
    assert done.returncode == 0
    assert json.loads(done.stdout)["mcpServers"]["pi-subagents"]["command"] == PROGRAM
    assert ", ".join(KNOWN) in done.stderr
    assert json.loads(machine.run("install", "mcp", "--json").stdout)["clients"] == KNOWN
    assert list(machine.home.iterdir()) == []
    assert "--client with one of claude, codex" in machine.run("uninstall", "mcp").stderr


@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize(
    ("client", "hint"), [("cluade", 'Did you mean "claude"?'), ("emacs", f"Choose one of {', '.join(KNOWN)}.")]
)
def test_a_client_that_is_not_known_is_an_error_and_nothing_else(
    machine: Machine, command: str, client: str, hint: str
) -> None:
    done = machine.run(command, "mcp", "--client", client)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f'Unknown client "{client}". {hint}\n')


def test_a_broken_file_is_an_error_with_the_lines_to_add_and_none_of_its_content(machine: Machine) -> None:
    path = machine.write(machine.home / ".cursor" / "mcp.json", f'{{"mcpServers": {{"other": "{KEY}" "oops"}}}}')
    done = machine.run("install", "mcp", "--client", "cursor")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {path} was not changed")
    assert f'"command": "{PROGRAM}"' in done.stderr
    assert KEY not in done.stderr
    assert KEY in path.read_text()


def test_people_who_use_codex_are_told_how_to_let_it_call_the_tools(machine: Machine) -> None:
    for scope in ("user", "project"):
        done = machine.run("install", "mcp", "--client", "codex", "--scope", scope)
        assert 'add default_tools_approval_mode = "approve" to the same table' in done.stderr


def test_the_shell_completes_clients_and_scopes(machine: Machine) -> None:
    def complete(*words: str) -> list[str]:
        line = ["pi-subagents", *words]
        machine.variables |= {
            "_PI_SUBAGENTS_COMPLETE": "zsh_complete",
            "COMP_WORDS": " ".join(line),
            "COMP_CWORD": str(len(line) - 1),
        }
        return machine.run().stdout.splitlines()

    assert complete("install", "mcp", "--client", "")[1::3] == KNOWN
    assert complete("uninstall", "mcp", "--client", "c")[1::3] == ["claude", "codex", "cursor"]
    assert complete("install", "mcp", "--scope", "p")[1::3] == ["project"]
    assert "mcp" in complete("install", "")[1::3]
