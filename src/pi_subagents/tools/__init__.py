"""The operations a model can call: schema, validation, result text and details, once for every surface."""

from pi_subagents.tools.contract import (
    OnProgress,
    Progress,
    RunOver,
    Spoken,
    Tool,
    ToolContext,
    ToolResult,
    Update,
    check_arguments,
)
from pi_subagents.tools.registry import AT_ONCE, TOOLS, call_tool

__all__ = [
    "AT_ONCE",
    "TOOLS",
    "OnProgress",
    "Progress",
    "RunOver",
    "Spoken",
    "Tool",
    "ToolContext",
    "ToolResult",
    "Update",
    "call_tool",
    "check_arguments",
]
