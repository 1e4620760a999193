"""Tests with the agent programs of others, which use pi-subagents through its MCP server."""

from __future__ import annotations

from tests.pi.fixtures import pi, play

__all__ = ["pi", "play"]
