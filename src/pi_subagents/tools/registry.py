"""All tools by name. Each is loaded only when it is asked for; until then there is a line about it in a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from pi_subagents.errors import InvalidCall, PiSubagentsError
from pi_subagents.text.wording import did_you_mean
from pi_subagents.tools.contract import Tool, ToolContext, ToolResult, check_arguments

_HOMES = {
    "delegate_to_subagents": "pi_subagents.tools.delegate.DELEGATE",
    "get_subagent_output": "pi_subagents.tools.retrieval.GET_OUTPUT",
    "get_subagent_session": "pi_subagents.tools.retrieval.GET_SESSION",
    "list_subagent_profiles": "pi_subagents.tools.profiles.LIST_PROFILES",
    "subagent": "pi_subagents.tools.subagent.SUBAGENT",
    "background_agent": "pi_subagents.tools.background.BACKGROUND_AGENT",
    "background_agent_status": "pi_subagents.tools.background.BACKGROUND_STATUS",
}

AT_ONCE = frozenset({"list_subagent_profiles"})
"""Those that wait for nothing, so that a call needs no event loop; here, because nothing is loaded to find that out."""


class _Tools(Mapping[str, Tool]):
    def __getitem__(self, name: str) -> Tool:
        module, _, attribute = _HOMES[name].rpartition(".")
        tool: Tool = getattr(import_module(module), attribute)
        return tool

    def __contains__(self, name: object) -> bool:
        return name in _HOMES  # without loading it

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


TOOLS: Mapping[str, Tool] = _Tools()


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
