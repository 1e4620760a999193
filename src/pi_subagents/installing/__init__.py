"""Makes other programs use pi-subagents: writes, and takes out again, our entry in their configuration files."""

from pi_subagents.installing.changes import Change
from pi_subagents.installing.clients import CLIENTS, SERVER_NAME, Scope, ServerCommand, find_launch
from pi_subagents.installing.mcp import Installation, generic_configuration, hints, install, uninstall

__all__ = [
    "CLIENTS",
    "SERVER_NAME",
    "Change",
    "Installation",
    "Scope",
    "ServerCommand",
    "find_launch",
    "generic_configuration",
    "hints",
    "install",
    "uninstall",
]
