"""The operations a model can call: schema, validation, result text and details, once for every surface."""

from pi_subagents.tools.contract import OnUpdate, Tool, ToolContext, ToolResult
from pi_subagents.tools.registry import TOOLS, call_tool
from pi_subagents.tools.tasks import check_tasks

__all__ = ["TOOLS", "OnUpdate", "Tool", "ToolContext", "ToolResult", "call_tool", "check_tasks"]
