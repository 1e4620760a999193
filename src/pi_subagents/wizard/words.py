"""The words that `/profile` understands."""

from __future__ import annotations

from typing import Literal

Action = Literal["list", "show", "create", "edit", "delete"]

MEANINGS: dict[Action, str] = {
    "list": "List all profiles",
    "show": "Show a profile in full",
    "create": "Create a profile, step by step",
    "edit": "Change a profile, step by step",
    "delete": "Delete a profile",
}

ACTIONS: dict[str, Action] = {action: action for action in MEANINGS} | {
    "ls": "list",
    "new": "create",
    "rm": "delete",
    "remove": "delete",
}

USAGE = "Usage: /profile list | show <name> | create <name> | edit <name> | delete <name>"
