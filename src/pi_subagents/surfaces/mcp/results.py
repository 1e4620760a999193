"""Tools and their results as MCP writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.tools import Tool, ToolResult

if TYPE_CHECKING:
    import mcp_types as types


def definition(tool: Tool) -> dict[str, Any]:
    """A tool as it is listed."""
    return {**tool.to_json(), "outputSchema": output_schema(tool)}


def output_schema(tool: Tool) -> dict[str, Any]:
    """What the structured content is: the tool's details, and the text.

    Many clients show their model nothing but the structured content where there is one, so it must say everything.
    """
    schema = tool.output_schema
    return {
        "type": "object",
        "properties": {"text": {"type": "string"}, **schema["properties"]},
        "required": ["text", *schema["required"]],
    }


def to_mcp(result: ToolResult) -> types.CallToolResult:
    """The text as content, and with the details as structured content, which an error without details has not."""
    import mcp_types as types

    return types.CallToolResult(
        content=[types.TextContent(type="text", text=result.text)],
        structured_content={"text": result.text, **_lean(result.details)} if result.details else None,
        is_error=result.is_error,
    )


def _lean(details: dict[str, Any]) -> dict[str, Any]:
    """Without the whole text of every window, which clients would put before their model: a session has it too."""
    if "windows" not in details:
        return details
    windows = [{key: value for key, value in window.items() if key != "allMessages"} for window in details["windows"]]
    return {**details, "windows": windows}
