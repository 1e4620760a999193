"""What the extension does with updates, in Python: the contract in a few lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MAX_MESSAGES = 500


def fold_patches(patches: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The details that updates add up to."""
    details: dict[str, Any] = {}
    for patch in patches:
        details |= patch.get("set", {})
        for change in patch.get("windows", []):
            _apply(details, change)
    return details


def _apply(details: dict[str, Any], change: dict[str, Any]) -> None:
    windows = details.setdefault("windows", [])
    while len(windows) <= change["index"]:
        windows.append({"lines": [], "allMessages": []})
    window = windows[change["index"]]
    window |= change.get("set", {})
    lines = window["allMessages"]
    lines = [*lines[: len(lines) - change.get("drop", 0)], *change.get("push", [])][-MAX_MESSAGES:]
    window["allMessages"] = lines
    window["lines"] = lines[-details["maxLinesPerWindow"] :]
