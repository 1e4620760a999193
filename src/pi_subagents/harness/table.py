"""All harnesses, and the names of their agents."""

from __future__ import annotations

from importlib import import_module

from pi_subagents.harness.contract import Harness

_ACP = "pi_subagents.harness.acp.acp.Acp"
ACP_AGENTS = ("opencode", "gemini", "copilot", "qwen", "acp")
"""Those in `acp.agents.AGENTS`, which takes too long to load for the names alone; `acp` is any program."""

HARNESSES = {
    "pi-json": "pi_subagents.harness.pi.pi.PiJson",
    "pi-rpc": "pi_subagents.harness.pi.rpc.PiRpc",
    "claude": "pi_subagents.harness.claude.claude.Claude",
    "codex": "pi_subagents.harness.codex.codex.Codex",
    **dict.fromkeys(ACP_AGENTS, _ACP),
}
"""By the name that profiles and settings use; a class is loaded when it is first asked for."""

DEFAULT_HARNESS = "pi-rpc"
PI_HARNESSES = ("pi-json", "pi-rpc")
DEFAULT_AGENT = "pi"
AGENTS = (DEFAULT_AGENT, *(name for name in HARNESSES if name not in PI_HARNESSES))
"""The agents that profiles and tasks can name; for `pi`, a setting chooses the harness."""


def harness_named(name: str) -> Harness:
    """The harness with that name; raises KeyError."""
    module, _, cls = HARNESSES[name].rpartition(".")
    make = getattr(import_module(module), cls)
    harness: Harness = make(name) if name in ACP_AGENTS else make()
    return harness


def harness_for_agent(agent: str, setting: str) -> Harness:
    """The harness for an agent; for `pi` the one that `setting` names, if it is one of its own."""
    if agent != DEFAULT_AGENT:
        return harness_named(agent)
    return harness_named(setting if setting in PI_HARNESSES else DEFAULT_HARNESS)


def agent_of(harness: str) -> str:
    """The agent that a harness is for."""
    return DEFAULT_AGENT if harness in PI_HARNESSES else harness
