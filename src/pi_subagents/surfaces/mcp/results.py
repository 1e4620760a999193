"""Tools and their results as MCP writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.tools import Tool, ToolResult

if TYPE_CHECKING:
    import mcp_types as types


def definition(tool: Tool) -> dict[str, Any]:
    """A tool as it is listed."""
    return {**tool.to_json(), "outputSchema": dict(tool.output_schema)}


def to_mcp(result: ToolResult) -> types.CallToolResult:
    """The text as content, and what says the same in structure, which a call that was wrong has not."""
    import mcp_types as types

    return types.CallToolResult(
        content=[types.TextContent(type="text", text=result.text)],
        structured_content=result.structured,
        is_error=result.is_error,
    )
