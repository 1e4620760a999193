"""The operations a model can call: schema, validation, result text and details, once for every surface."""

from pi_subagents.tools.arguments import check_arguments
from pi_subagents.tools.contract import OnUpdate, Tool, ToolContext, ToolResult
from pi_subagents.tools.registry import TOOLS, call_tool
from pi_subagents.tools.tasks import TaskArguments

__all__ = ["TOOLS", "OnUpdate", "TaskArguments", "Tool", "ToolContext", "ToolResult", "call_tool", "check_arguments"]
