"""All tools by name, and the one way to call them."""

from __future__ import annotations

from pi_subagents.errors import InvalidCall, PiSubagentsError
from pi_subagents.text.wording import did_you_mean
from pi_subagents.tools.background import BACKGROUND_AGENT, BACKGROUND_STATUS
from pi_subagents.tools.contract import Tool, ToolContext, ToolResult, check_arguments
from pi_subagents.tools.delegate import DELEGATE
from pi_subagents.tools.profiles import LIST_PROFILES
from pi_subagents.tools.retrieval import GET_OUTPUT, GET_SESSION
from pi_subagents.tools.subagent import SUBAGENT

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        DELEGATE,
        GET_OUTPUT,
        GET_SESSION,
        LIST_PROFILES,
        SUBAGENT,
        BACKGROUND_AGENT,
        BACKGROUND_STATUS,
    )
}


async def call_tool(name: str, arguments: object, context: ToolContext) -> ToolResult:
    """Call a tool; what is wrong with the call becomes a result with `is_error` that says what to do."""
    try:
        tool = _find(name)
        return await tool.run(check_arguments(arguments, tool.arguments), context)
    except PiSubagentsError as error:
        return ToolResult(str(error), is_error=True)


def _find(name: str) -> Tool:
    tool = TOOLS.get(name)
    if tool is None:
        hint = did_you_mean(name, TOOLS)
        raise InvalidCall(f'Unknown tool: "{name}". Available tools: {", ".join(TOOLS)}{hint and "." + hint}')
    return tool
