"""What stands in two places is the same in both: commands, messages and tools, in the extension and elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pi_subagents.harness.pi.arguments import OWN_TOOLS, is_tool
from pi_subagents.surfaces.bridge.handshake import COMMANDS
from pi_subagents.tools import TOOLS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "pi_subagents"
EXTENSION = "\n".join(path.read_text() for path in sorted((PACKAGE / "extension").glob("*.ts")))
BRIDGE = "\n".join(path.read_text() for path in sorted((PACKAGE / "surfaces" / "bridge").glob("*.py")))
PREVIEWS = (PACKAGE / "progress" / "previews.py").read_text()
PAGE = (ROOT / "docs" / "reference" / "bridge.md").read_text()
MESSAGE = r"[a-z]+/[a-z]+"
TOOL = re.compile(r"\b(?:delegate_to|get_subagent|list_subagent|background_agent)(?:_\w+)?\b")


def test_pi_offers_the_commands_that_the_bridge_carries_out() -> None:
    table = re.search(r"^const COMMANDS = \{$(.*?)^\};$", EXTENSION, re.MULTILINE | re.DOTALL)
    assert table is not None
    registered = dict(re.findall(r'^\t(\w+): "(.*)",$', table[1], re.MULTILINE))
    assert registered == {command["name"]: command["description"] for command in COMMANDS}
    assert set(registered) == set(re.findall(r'command\.command == "(\w+)"', BRIDGE))
    assert set(registered) == set(re.findall(r"`(\w+)`", re.search(r"`command` \((.*?)\)", PAGE)[1]))  # type: ignore[index]


def test_both_sides_know_the_same_messages() -> None:
    known = set(re.findall(rf'"({MESSAGE})"', BRIDGE))
    assert {"tool/call", "tool/update"} <= known
    assert set(re.findall(rf'"({MESSAGE})"', EXTENSION)) == known
    assert set(re.findall(rf"^\| `({MESSAGE})` \|", PAGE, re.MULTILINE)) == known


@pytest.mark.parametrize("text", [EXTENSION, PREVIEWS], ids=["extension", "previews"])
def test_no_tool_is_named_that_there_is_not(text: str) -> None:
    named = set(TOOL.findall(text))
    assert named
    assert named <= set(TOOLS)


def test_a_harness_knows_the_names_of_our_tools_which_it_cannot_import_and_profiles_may_use_them() -> None:
    assert TOOLS.keys() == OWN_TOOLS
    assert all(map(is_tool, TOOLS))
