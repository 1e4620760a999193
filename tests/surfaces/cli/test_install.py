"""`install` and `uninstall`, and what `doctor` says of them, as they are typed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pi_subagents import __version__
from pi_subagents.tools import TOOLS
from tests.kit.command import completing
from tests.surfaces.cli.machine import Machine, diagnose

PROGRAM = str(Path(sys.executable).with_name("pi-subagents"))
KNOWN = ["claude", "codex", "opencode", "cursor", "vscode", "gemini"]
KEY = "sk-of-another-server"


def test_a_server_that_is_installed_or_uninstalled_is_told_in_a_sentence(machine: Machine) -> None:
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
        machine.variables |= completing(*words)
        return machine.run().stdout.splitlines()[1::3]

    assert complete("install", "mcp", "--client", "") == KNOWN
    assert complete("uninstall", "mcp", "--client", "c") == ["claude", "codex", "cursor"]
    assert complete("install", "mcp", "--scope", "p") == ["project"]
    assert "mcp" in complete("install", "")


def _folder(machine: Machine) -> Path:
    return machine.agent_dir / "extensions" / "pi-subagents"


def _manifest(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "tools.json").read_text())
    return manifest


def test_an_extension_that_is_installed_or_uninstalled_is_told_in_a_sentence(machine: Machine) -> None:
    machine.add_pi()
    folder = _folder(machine)
    installed = machine.run("install", "pi")
    assert (installed.returncode, installed.stdout) == (0, f"wrote the extension to {folder}\n")
    assert installed.stderr == ""
    assert {file.name for file in folder.iterdir()} >= {"index.ts", "tools.json"}
    manifest = _manifest(folder)
    assert (manifest["version"], [tool["name"] for tool in manifest["tools"]]) == (__version__, list(TOOLS))
    # Found whatever PATH pi has, and no file of a project is taken for one of our modules.
    assert manifest["bridge"] == [str(Path(sys.executable).absolute()), "-P", "-m", "pi_subagents", "bridge"]
    again = machine.run("install", "pi")
    assert again.stdout == f"the extension in {folder} is already up to date\n"
    (folder / "index.ts").write_text("// edited")
    (folder / "of-an-earlier-version.ts").write_text("")
    renewed = machine.run("install", "pi")
    assert renewed.stdout == f"updated the extension in {folder}\n"
    assert not (folder / "of-an-earlier-version.ts").exists()
    assert machine.run("install", "pi").stdout == again.stdout
    gone = machine.run("uninstall", "pi")
    assert gone.stdout == f"deleted the extension in {folder}\n"
    assert not folder.parent.exists()
    assert machine.run("uninstall", "pi").stdout == f"no extension in {folder}; nothing to do\n"


def test_a_project_gets_the_name_of_the_program_and_no_path_of_mine(machine: Machine) -> None:
    machine.add_pi()
    (machine.project / ".git").mkdir()
    done = machine.run("install", "pi", "--project")
    folder = machine.project / ".pi" / "extensions" / "pi-subagents"
    assert done.stdout == f"wrote the extension to {folder}\n"
    assert "needs pi-subagents on their PATH" in done.stderr
    assert "have trusted that directory" in done.stderr
    assert _manifest(folder)["bridge"] == ["pi-subagents", "bridge"]
    assert not [file for file in folder.iterdir() if str(machine.root).encode() in file.read_bytes()]
    assert machine.run("uninstall", "pi", "--project").returncode == 0
    assert not folder.parent.exists()


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(machine: Machine) -> None:
    done = machine.run("install", "pi", "--dry-run")
    assert done.stdout.startswith(f"would change {_folder(machine)}:\n")
    assert "  tools.json: created\n" in done.stdout
    assert not machine.agent_dir.exists()
    machine.add_pi()
    machine.run("install", "pi")
    told = json.loads(machine.run("uninstall", "pi", "--dry-run", "--json").stdout)
    assert (told["status"], told["changed"], told["scope"]) == ("deleted", False, "user")
    assert (_folder(machine) / "tools.json").exists()


@pytest.mark.parametrize("kind", ["another extension", "a link"])
def test_what_is_not_ours_is_left_alone(machine: Machine, kind: str) -> None:
    folder, elsewhere = _folder(machine), machine.root / "elsewhere"
    # A link may lead to sources of ours that somebody works on.
    path = folder / "index.ts" if kind == "another extension" else elsewhere / "painting.ts"
    theirs = machine.write(path, "// theirs")
    if kind == "a link":
        folder.parent.mkdir(parents=True)
        folder.symlink_to(elsewhere)
    for command in ("install", "uninstall"):
        done = machine.run(command, "pi")
        assert (done.returncode, done.stdout) == (1, "")
        assert str(folder) in done.stderr
        assert "run this again" in done.stderr
    assert theirs.read_text() == "// theirs"


@pytest.mark.parametrize("damage", [None, "{"])
def test_damaged_files_are_mended(machine: Machine, damage: str | None) -> None:
    machine.add_pi()
    machine.run("install", "pi")
    path = _folder(machine) / "tools.json"
    path.unlink() if damage is None else path.write_text(damage)
    assert machine.run("install", "pi").stdout == f"updated the extension in {_folder(machine)}\n"
    assert _manifest(_folder(machine))["version"] == __version__


def test_a_pi_that_does_not_start_with_it_is_told_of_with_the_way_back(machine: Machine) -> None:
    machine.add_pi(models='echo "Error: Failed to load extension: Tool subagent conflicts"; exit 1')
    done = machine.run("install", "pi")
    assert done.returncode == 0
    assert "warning: pi fails to start with it: Error: Failed to load extension: Tool subagent conflicts" in done.stderr
    assert "pi-subagents uninstall pi" in done.stderr


def test_doctor_says_whether_pi_has_the_extension_and_what_is_wrong_with_it(machine: Machine) -> None:
    machine.add_pi()
    absent = diagnose(machine).one("extension")
    assert (absent["ok"], "pi-subagents install pi" in absent["detail"]) == (True, True)
    assert "\n- extension       not installed (optional);" in machine.run("doctor").stdout
    machine.run("install", "pi")
    fine = diagnose(machine).one("extension")
    assert (fine["ok"], __version__ in fine["detail"]) == (True, True)
    path = _folder(machine) / "tools.json"
    manifest = json.loads(path.read_text())
    for damage, said in (
        ({"version": "0.0.1"}, "is version 0.0.1"),
        ({"bridge": ["/gone", "bridge"]}, "cannot start /gone"),
        ({"bridge": None}, "are damaged"),
    ):
        path.write_text(json.dumps({**manifest, **damage}))
        finding = diagnose(machine).one("extension")
        assert (finding["ok"], finding["hint"]) == (False, "run: pi-subagents install pi")
        assert said in finding["detail"]


def test_doctor_says_that_pi_does_not_load_what_it_was_not_told_to_trust(machine: Machine) -> None:
    machine.add_pi()
    (machine.project / ".git").mkdir()
    machine.run("install", "pi", "--project")
    machine.add_program("pi-subagents", f'#!/bin/sh\nexec {sys.executable} -m pi_subagents "$@"\n')
    untrusted = diagnose(machine).one("extension")
    assert (untrusted["ok"], untrusted["hint"]) == (False, "run `pi-subagents pi` here and type `/trust`")
    machine.write(machine.agent_dir / "trust.json", json.dumps({str(machine.project.resolve()): True}))
    assert diagnose(machine).one("extension")["ok"]


def test_doctor_does_not_run_what_a_projects_extension_names(machine: Machine) -> None:
    machine.add_pi()
    machine.run("install", "pi", "--project")
    folder = machine.project / ".pi" / "extensions" / "pi-subagents"
    program = machine.add_program("evil", f"#!/bin/sh\n: >'{machine.root}/ran'\necho pi-subagents {__version__}\n")
    (folder / "tools.json").write_text(json.dumps({**_manifest(folder), "bridge": [str(program), "bridge"]}))
    finding = diagnose(machine).one("extension")
    assert not finding["ok"]
    assert "something other than pi-subagents" in finding["detail"]
    assert not (machine.root / "ran").exists()
