"""What each client finds: the file and every byte in it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pi_subagents.errors import InvalidCall
from pi_subagents.installing import CLIENTS, Scope, install
from tests.installing.kit import User

DAY_MS = 86_400_000
PROGRAM = "/opt/tools/bin/pi-subagents"
ENV = {"PI_AGENT_DIR": "/data/agent"}
OWN: dict[str, Any] = {"command": PROGRAM, "args": ["mcp"], "env": ENV}
SHARED: dict[str, Any] = {"command": "pi-subagents", "args": ["mcp"]}
STDIO = {"type": "stdio"}

CODEX_OWN = """\
[mcp_servers.pi-subagents]
command = "/opt/tools/bin/pi-subagents"
args = ["mcp"]
startup_timeout_sec = 30
tool_timeout_sec = 86400

[mcp_servers.pi-subagents.env]
PI_AGENT_DIR = "/data/agent"
"""
CODEX_SHARED = """\
[mcp_servers.pi-subagents]
command = "pi-subagents"
args = ["mcp"]
startup_timeout_sec = 30
tool_timeout_sec = 86400
env_vars = ["PI_AGENT_DIR", "PI_CODING_AGENT_DIR", "PI_SUBAGENTS_DATA_DIR", "PI_SUBAGENTS_PI"]
"""


def document(table: str, entry: dict[str, Any]) -> str:
    return json.dumps({table: {"pi-subagents": entry}}, indent=2) + "\n"


def opencode(command: list[str], **more: Any) -> str:
    entry = {"type": "local", "command": command, "enabled": True, **more, "timeout": DAY_MS}
    return document("mcp", entry)


@pytest.mark.parametrize(
    ("client", "scope", "file", "text"),
    [
        ("claude", "user", "home/.claude.json", document("mcpServers", STDIO | OWN)),
        ("claude", "project", "project/.mcp.json", document("mcpServers", STDIO | SHARED)),
        ("codex", "user", "home/.codex/config.toml", CODEX_OWN),
        ("codex", "project", "project/.codex/config.toml", CODEX_SHARED),
        ("opencode", "user", "home/.config/opencode/opencode.json", opencode([PROGRAM, "mcp"], environment=ENV)),
        ("opencode", "project", "project/opencode.json", opencode(["pi-subagents", "mcp"])),
        ("cursor", "user", "home/.cursor/mcp.json", document("mcpServers", STDIO | OWN)),
        ("cursor", "project", "project/.cursor/mcp.json", document("mcpServers", STDIO | SHARED)),
        ("vscode", "user", "home/.config/Code/User/mcp.json", document("servers", STDIO | OWN)),
        ("vscode", "project", "project/.vscode/mcp.json", document("servers", STDIO | SHARED)),
        ("gemini", "user", "home/.gemini/settings.json", document("mcpServers", OWN | {"timeout": DAY_MS})),
        ("gemini", "project", "project/.gemini/settings.json", document("mcpServers", SHARED | {"timeout": DAY_MS})),
    ],
)
def test_a_client_finds_its_file_and_it_goes_without_a_trace(
    user: User, client: str, scope: Scope, file: str, text: str
) -> None:
    assert user.install(client, scope).status == "created"
    assert user.files() == {file: text.encode()}
    assert user.uninstall(client, scope).status == "deleted"
    assert user.files() == {}


@pytest.mark.parametrize(
    ("client", "variable", "file"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
        ("vscode", "XDG_CONFIG_HOME", "Code/User/mcp.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
    ],
)
def test_a_client_that_keeps_its_files_elsewhere_finds_them_there(
    user: User, client: str, variable: str, file: str
) -> None:
    user.environ[variable] = str(user.root / "elsewhere")
    assert user.install(client).path == user.root / "elsewhere" / file


def test_the_file_that_opencode_has_already_is_the_one_that_is_changed(user: User) -> None:
    with_comments = user.project / "opencode.jsonc"
    with_comments.write_text('{\n  // mine\n  "theme": "dark",\n}\n')
    assert user.install("opencode", "project").path == with_comments
    (user.project / "opencode.json").write_text("{}")
    assert user.install("opencode", "project").status == "unchanged"
    assert user.uninstall("opencode", "project").path == with_comments


def test_a_users_files_are_private_and_a_projects_are_not(user: User) -> None:
    user.root.chmod(0o755)
    assert user.install("cursor", "user").path.stat().st_mode & 0o077 == 0
    assert user.install("cursor", "project").path.stat().st_mode & 0o040


def test_a_scope_that_a_client_has_not_is_an_error_that_names_the_one_it_has(user: User) -> None:
    installation = user.installation("cursor", "project")
    client = replace(CLIENTS["cursor"], locations={"user": CLIENTS["cursor"].locations["user"]})
    with pytest.raises(InvalidCall, match="Cursor has no scope 'project'; use --scope user"):
        install(replace(installation, client=client))
    assert user.files() == {}


def present(user: User) -> list[str]:
    return [name for name, client in CLIENTS.items() if client.is_present(user.installation(name).place)]


def test_a_client_is_found_by_its_program_or_by_what_it_keeps_in_the_home(user: User) -> None:
    programs = user.root / "bin"
    user.environ["PATH"] = str(programs)
    assert present(user) == []
    programs.mkdir()
    (programs / "code").touch(0o755)
    (user.home / ".codex").mkdir()
    (user.home / ".claude.json").touch()
    assert present(user) == ["claude", "codex", "vscode"]
