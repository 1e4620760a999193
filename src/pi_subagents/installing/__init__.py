"""Makes other programs use pi-subagents: writes, and takes out again, our entry in their configuration files."""

from pi_subagents.installing.changes import Change, Status
from pi_subagents.installing.clients import (
    CLIENTS,
    SERVER_NAME,
    Client,
    Scope,
    ServerCommand,
    find_launch,
)
from pi_subagents.installing.mcp import Installation, generic_configuration, hints, install, snippet, uninstall

__all__ = [
    "CLIENTS",
    "SERVER_NAME",
    "Change",
    "Client",
    "Installation",
    "Scope",
    "ServerCommand",
    "Status",
    "find_launch",
    "generic_configuration",
    "hints",
    "install",
    "snippet",
    "uninstall",
]
