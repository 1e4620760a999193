"""Launches background runs for tests that treat launchers badly: one for every order it reads."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from pi_subagents.place import Place
from pi_subagents.tools import ToolContext, call_tool


def launch(order: dict[str, Any]) -> dict[str, Any]:
    """Call the tool as a model would; returns its row."""
    context = ToolContext(Place.here(Path(order["project"]), order["environ"]), owner=order["owner"])
    result = asyncio.run(call_tool("background_agent", {"preset": order["preset"], "task": order["task"]}, context))
    assert not result.is_error, result.text
    return dict(result.details["run"])


def main() -> None:
    """Answer every line on standard input with a line."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(launch(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
