"""Every form that a link can have, in every place that matters: nobody goes through it."""

from __future__ import annotations

import pytest

from tests.security.kit import Victim
from tests.security.projects import FORMS, LINKED, linked
from tests.security.things import GIT, Link

COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "runs": (("sessions", "list"), ("run", "Say hello"), ("sessions", "clean", "--keep", "0", "--yes")),
    "extensions": (("install", "pi", "--project"), ("uninstall", "pi", "--project")),
    "agent-profiles": (
        ("profile", "create", "new", "--scope", "project", "--model", "acme/large"),
        ("run", "-p", "mine", "x"),
    ),
    "prompts": (("init",),),
}
PLACES = {place: commands for word, commands in COMMANDS.items() for place in LINKED if word in place}
PLACES |= dict.fromkeys((".pi", ".pi/subagents"), COMMANDS["runs"])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", PLACES)
def test_a_directory_that_is_a_link_out_of_the_project_is_not_written_through(
    place: str, form: str, victim: Victim
) -> None:
    victim.receives({**linked(place, form=form), **GIT})
    victim.arm()
    victim.survives(*PLACES[place])


@pytest.mark.parametrize("client", ["claude", "codex", "opencode", "cursor", "vscode", "gemini"])
@pytest.mark.parametrize("to", ["{home}/.config/app.json", "{home}/made-by-link", "/proc/self/cwd/{up}/.bashrc"])
def test_no_clients_configuration_is_written_or_deleted_through_a_link(to: str, client: str, victim: Victim) -> None:
    files = (
        ".mcp.json",
        ".codex/config.toml",
        "opencode.json",
        ".cursor/mcp.json",
        ".vscode/mcp.json",
        ".gemini/settings.json",
    )
    victim.receives({**GIT, **dict.fromkeys(files, Link(to)), **{f"{file}.bak": Link(to) for file in files}})
    victim.arm()
    victim.survives(*((word, "mcp", "--client", client, "--scope", "project") for word in ("install", "uninstall")))


@pytest.mark.parametrize("folder", [".codex", ".cursor", ".vscode", ".gemini"])
def test_no_clients_directory_is_a_way_out(folder: str, victim: Victim) -> None:
    victim.receives({**GIT, folder: Link("{home}/.config")})
    victim.arm()
    words = ("mcp", "--client", folder[1:], "--scope", "project")
    victim.survives(("install", *words), ("uninstall", *words))


def test_installing_into_a_project_without_links_works(victim: Victim) -> None:
    # So that the rest of this file cannot be made green by installing nothing.
    victim.receives({**GIT, ".mcp.json": '{"mcpServers": {"other": {"command": "x"}}}\n'})
    victim.arm()
    victim.survives(("install", "mcp", "--client", "claude", "--scope", "project"), ("install", "pi", "--project"))
    assert "pi-subagents" in (victim.clone / ".mcp.json").read_text()
    assert (victim.clone / ".pi" / "extensions" / "pi-subagents" / "tools.json").is_file()
    victim.survives(("uninstall", "pi", "--project"))
    assert not (victim.clone / ".pi" / "extensions" / "pi-subagents").exists()
