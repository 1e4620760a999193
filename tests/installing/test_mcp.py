"""Into files that people and other programs write too, and out again."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from pi_subagents.errors import ClientConfigError, InstallError
from pi_subagents.files import MAX_CONFIGURATION_BYTES
from pi_subagents.installing import ServerCommand, changes, install, uninstall
from tests.installing.kit import User
from tests.kit.waiting import PATIENCE_S

SETTINGS = """\
{
    // what I like
    "theme": "dark",
    "mcp": {
        "other": {"type": "local", "command": ["other"]}, // the first
    },
    "last": 1
}
"""
INSTALLED = """\
{
    // what I like
    "theme": "dark",
    "mcp": {
        "other": {"type": "local", "command": ["other"]}, // the first
        "pi-subagents": {
            "type": "local",
            "command": [
                "pi-subagents",
                "mcp"
            ],
            "enabled": true,
            "timeout": 86400000
        },
    },
    "last": 1
}
"""
CONFIG = """\
model = "large" # the best

[mcp_servers.other]
command = "other"
env = { KEY = "value" }
# trailing thought
"""


@pytest.fixture
def settings(user: User) -> Path:
    """opencode's file of a project."""
    path = user.project / "opencode.jsonc"
    path.write_text(SETTINGS)
    return path


@pytest.fixture
def config(user: User) -> Path:
    """codex' file of a user."""
    path = user.home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(CONFIG)
    return path


def test_everything_else_in_a_file_stays_and_it_is_given_back_as_it_was(user: User, settings: Path) -> None:
    before = user.files()
    assert user.install("opencode", "project").status == "added"
    assert settings.read_text() == INSTALLED
    assert settings.with_name("opencode.jsonc.bak").read_text() == SETTINGS
    assert user.uninstall("opencode", "project").status == "restored"
    assert user.files() == before


def test_a_toml_file_gets_a_table_and_is_given_back_as_it_was(user: User, config: Path) -> None:
    before = user.files()
    user.install("codex")
    assert config.read_text().startswith(CONFIG + "\n[mcp_servers.pi-subagents]\n")
    user.uninstall("codex")
    assert user.files() == before


def test_a_second_run_changes_nothing(user: User, config: Path) -> None:
    user.install("codex")
    before, stamp = user.files(), config.stat().st_mtime_ns
    assert user.install("codex").status == "unchanged"
    assert user.files() == before
    assert config.stat().st_mtime_ns == stamp
    user.uninstall("codex")
    assert user.uninstall("codex").status == "absent"


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_an_entry_of_an_older_installation_is_brought_up_to_date_and_leaves_no_trace_either(
    user: User, config: Path, client: str
) -> None:
    original = user.files()
    user.launch = ServerCommand("/old/bin/pi-subagents", ("mcp",), {"PI_AGENT_DIR": "/old"})
    user.install(client)
    user.launch = ServerCommand("/new/bin/pi-subagents", ("mcp",), {"PI_AGENT_DIR": "/new"})
    change = user.install(client)
    assert change.status == "updated"
    assert b"/old" not in change.path.read_bytes()
    assert change.backup is not None
    assert b"/old" in change.backup.read_bytes()
    user.uninstall(client)
    assert user.files() == original


def test_what_people_added_to_our_entry_survives_an_update(user: User) -> None:
    path = user.install("codex").path
    path.write_text(
        path.read_text().replace("tool_timeout_sec = 86400", "tool_timeout_sec = 5 # short\nenabled = false")
    )
    change = user.install("codex")
    assert change.status == "updated"
    assert "tool_timeout_sec = 86400\nenabled = false\n" in path.read_text()
    assert change.backup is not None
    assert "# short" in change.backup.read_text()


def test_only_our_entry_goes_from_a_file_that_others_changed(user: User, settings: Path, config: Path) -> None:
    user.install("opencode", "project")
    settings.write_text(settings.read_text().replace("dark", "light"))
    assert user.uninstall("opencode", "project").status == "removed"
    assert settings.read_text() == SETTINGS.replace("dark", "light")
    user.install("codex")
    with config.open("a") as file:
        file.write('\n# trusted by me\n[projects."/x"]\ntrust_level = "trusted"\n')
    assert user.uninstall("codex").status == "removed"
    assert config.read_text() == CONFIG + '\n# trusted by me\n[projects."/x"]\ntrust_level = "trusted"\n'


def test_an_older_backup_is_never_overwritten(user: User, settings: Path) -> None:
    older = settings.with_name("opencode.jsonc.bak")
    older.write_text("precious")
    change = user.install("opencode", "project")
    assert change.backup == settings.with_name("opencode.jsonc.bak2")
    assert change.backup.read_text() == SETTINGS
    user.uninstall("opencode", "project")
    assert (older.read_text(), settings.read_text()) == ("precious", SETTINGS)
    assert not change.backup.exists()


@pytest.mark.parametrize(
    ("client", "file", "content", "reason"),
    [
        ("claude", ".claude.json", b'{"mcpServers": {},\n "a" 1}', "line 2: expected ':'"),
        ("claude", ".claude.json", b'{"mcpServers": []}', "'mcpServers' does not contain named values"),
        ("claude", ".claude.json", b'["mcpServers"]', "line 1: expected '{'"),
        ("claude", ".claude.json", b'{"a": "\xff"}', "UTF-8"),
        ("codex", ".codex/config.toml", b"model = \n", "line 1"),
        ("codex", ".codex/config.toml", b"x = " + b"1" * 5_000, "too many digits"),
        ("codex", ".codex/config.toml", b"x = " + b"[" * 5_000, "nested too deeply"),
        ("codex", ".codex/config.toml", b"x." * 100_000 + b"x = 1", "nested too deeply"),
        ("codex", ".codex/config.toml", rb"""'x'."\"" . """ * 50_000 + b"x = 1", "nested too deeply"),
        (
            "codex",
            ".codex/config.toml",
            b'mcp_servers = { other = { command = "x" } }\n',
            "its layout is not supported",
        ),
    ],
)
def test_a_file_that_cannot_be_changed_is_left_and_the_lines_are_given(
    user: User, client: str, file: str, content: bytes, reason: str
) -> None:
    path = user.home / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    before = user.files()
    with pytest.raises(ClientConfigError) as caught:
        user.install(client)
    assert user.files() == before
    for part in (str(path), reason, "Fix it and run this again", "by hand", "/opt/tools/bin/pi-subagents"):
        assert part in str(caught.value)


def test_an_entry_goes_from_a_file_of_very_many_lines(user: User, config: Path) -> None:
    user.install("codex")
    config.write_text(config.read_text() + "[z]\n" + "#\n" * 100_000)
    change = uninstall(user.installation("codex"), dry_run=True)
    assert change.after == (CONFIG + "[z]\n" + "#\n" * 100_000).encode()
    assert "-[mcp_servers.pi-subagents]\n" in change.diff()


def test_an_entry_that_is_there_very_often_is_left_to_people(user: User) -> None:
    path = user.home / ".claude.json"
    path.write_text('{"mcpServers": {' + ",".join(['"pi-subagents": {}'] * 2_000) + "}}")
    with pytest.raises(ClientConfigError, match=r"'pi-subagents' appears in it more than 10 times.*by hand"):
        user.uninstall("claude")


def test_a_directory_that_cannot_be_written_is_an_error_that_names_the_file(user: User) -> None:
    # Not even root may make files there.
    user.environ["CLAUDE_CONFIG_DIR"] = "/proc"
    with pytest.raises(ClientConfigError, match=r"/proc/\.claude\.json cannot be read or written: .*by hand"):
        user.install("claude")


def test_a_link_stays_a_link_and_the_mode_of_the_file_stays(user: User) -> None:
    real = user.root / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}")
    real.chmod(0o640)
    link = user.home / ".claude.json"
    link.symlink_to(real)
    change = user.install("claude")
    assert link.is_symlink()
    assert "pi-subagents" in real.read_text()
    assert change.backup == user.home / ".claude.json.bak"
    assert {path.stat().st_mode & 0o777 for path in (real, change.backup)} == {0o640}
    user.uninstall("claude")
    assert link.is_symlink()
    assert real.read_text() == "{}"


def test_a_projects_file_that_no_person_wrote_is_left_but_a_users_long_history_is_not(user: User) -> None:
    content = json.dumps({"history": "x" * MAX_CONFIGURATION_BYTES})
    for path in (user.project / ".mcp.json", user.home / ".claude.json"):
        path.write_text(content)
    for act in (user.install, user.uninstall):
        with pytest.raises(ClientConfigError, match=r"\.mcp\.json is larger than 1,048,576 bytes; move it .*by hand"):
            act("claude", "project")
    assert (user.project / ".mcp.json").read_text() == content
    assert user.install("claude").status == "added"
    assert user.uninstall("claude").status == "restored"


def test_what_no_backup_can_be_is_named_and_not_read(user: User, settings: Path) -> None:
    backup = settings.with_name("opencode.jsonc.bak")
    backup.touch()
    os.truncate(backup, 60_000_000)
    with pytest.raises(ClientConfigError, match=r"opencode\.jsonc\.bak is larger than 1,048,576 bytes; move it away"):
        user.install("opencode", "project")


def test_of_many_backups_the_oldest_are_read_and_none_is_overwritten(user: User, settings: Path) -> None:
    for number in range(1, 101):
        backup = settings.with_name(f"opencode.jsonc.bak{number if number > 1 else ''}")
        backup.write_text(SETTINGS + " " * 100_000)
    read = changes.backups(settings, user.installation("opencode", "project").tree)
    assert next(iter(read)) == settings.with_name("opencode.jsonc.bak")
    assert sum(map(len, read.values())) <= MAX_CONFIGURATION_BYTES
    assert user.install("opencode", "project").backup == settings.with_name("opencode.jsonc.bak101")


def test_an_installation_that_never_ends_is_not_waited_for_in_silence(
    user: User, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "PATIENCE_S", 0.01)
    with (
        changes.one_at_a_time(),
        pytest.raises(InstallError, match=r"Another installation .*/installing.*run this again"),
    ):
        user.install("opencode", "project")
    assert settings.read_text() == SETTINGS
    assert user.install("opencode", "project").status == "added"


def test_a_dry_run_writes_nothing_and_shows_the_change(user: User, settings: Path) -> None:
    before = user.files()
    change = install(user.installation("opencode", "project"), dry_run=True)
    assert user.files() == before
    assert f"--- {settings}\n+++ {settings}\n" in change.diff()
    assert '+        "pi-subagents": {\n' in change.diff()
    assert "what I like" not in change.diff()


def test_a_file_that_its_program_writes_at_the_same_moment_is_not_overwritten(user: User, settings: Path) -> None:
    change = install(user.installation("opencode", "project"), dry_run=True)
    settings.write_text("{}")
    with pytest.raises(ClientConfigError, match=r"opencode\.jsonc at the same time; run this again"):
        change.apply(is_private=False)
    assert settings.read_text() == "{}"


def test_installations_at_the_same_time_lose_nothing(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "PATIENCE_S", PATIENCE_S)  # however long the other seven take
    path = user.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mine": 1}')
    base, barrier = user.installation("cursor"), threading.Barrier(8)

    def add(number: int) -> None:
        barrier.wait()
        install(replace(base, client=replace(base.client, table=f"servers {number}")))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(json.loads(path.read_text())) == {"mine", *(f"servers {number}" for number in range(8))}
