"""Tool results as MCP writes them."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from pi_subagents.tools import ToolResult


def to_mcp(result: ToolResult) -> types.CallToolResult:
    """The text as content and the details as structured content, which an error without details does not have."""
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=result.text)],
        structured_content=_lean(result.details) if result.details else None,
        is_error=result.is_error,
    )


def _lean(details: dict[str, Any]) -> dict[str, Any]:
    """Without the whole text of every window, which clients would put before their model: a session has it too."""
    if "windows" not in details:
        return details
    windows = [{key: value for key, value in window.items() if key != "allMessages"} for window in details["windows"]]
    return {**details, "windows": windows}
