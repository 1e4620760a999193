"""Which pages there are."""

from __future__ import annotations

from pathlib import Path

from scripts.reference.agents import agents_page
from scripts.reference.commands import commands_page
from scripts.reference.profiles import profiles_page
from scripts.reference.settings import settings_page
from scripts.reference.tools import tools_page

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
_NOTE = "<!-- Made from the code by ./scripts/docs; edit scripts/reference/ instead. -->"


def pages() -> dict[str, str]:
    """Every page by file name."""
    made = {
        "cli.md": commands_page(),
        "tools.md": tools_page(),
        "settings.md": settings_page(),
        "profiles.md": profiles_page(),
        "agents.md": agents_page(),
    }
    return {name: f"{_NOTE}\n\n{text.strip()}\n" for name, text in made.items()}
