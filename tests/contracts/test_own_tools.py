"""What a harness knows of our own tools, which it cannot import, is what there is."""

from __future__ import annotations

from pi_subagents.harness.pi.arguments import OWN_TOOLS
from pi_subagents.tools.registry import TOOLS


def test_pi_knows_the_names_of_our_tools() -> None:
    assert TOOLS.keys() == OWN_TOOLS
