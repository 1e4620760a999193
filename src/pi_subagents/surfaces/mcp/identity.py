"""What the server says of itself; known before the SDK is loaded."""

from __future__ import annotations

from pi_subagents import __version__

NAME = "pi-subagents"
TITLE = "Sub-agents"
VERSION = __version__
INSTRUCTIONS = (
    "Hands tasks to sub-agents, each an isolated coding agent with its own context. A sub-agent sees nothing but its "
    "task: give it all it needs. Results stay readable by session id, also after a crash; background_agent is for work "
    "that should go on while you do something else."
)
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions of the protocol that begin with `initialize`, oldest first."""
MODERN_VERSIONS = ("2026-07-28",)
"""Revisions that do without it."""
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""More than the largest prompt that anybody sends; a client that sends more is told so."""
TASKS_EXTENSION = "io.modelcontextprotocol/tasks"
