"""The offline model: a scripted server in the place of a provider, for real agents without key or network."""

from pi_subagents.offline.agent_dir import agent_environment
from pi_subagents.offline.demo import DEMO_PROFILES, DEMO_TASKS, DemoTask, demo_script, suits_demo, write_sample_project
from pi_subagents.offline.request import Request, ToolResult
from pi_subagents.offline.script import Attempts, Call, CutStream, Fail, Hang, Say, Script, Turn, Usage
from pi_subagents.offline.server import OfflineModel

__all__ = [
    "DEMO_PROFILES",
    "DEMO_TASKS",
    "Attempts",
    "Call",
    "CutStream",
    "DemoTask",
    "Fail",
    "Hang",
    "OfflineModel",
    "Request",
    "Say",
    "Script",
    "ToolResult",
    "Turn",
    "Usage",
    "agent_environment",
    "demo_script",
    "suits_demo",
    "write_sample_project",
]
