"""Sub-agents for coding agents: named profiles, many isolated agents side by side, results that are never lost.

    from pi_subagents import Task, delegate

    results = await delegate([Task("docs", "Summarise README.md")])

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pi_subagents.delegation.delegation import Delegation, RunUpdate, delegate
    from pi_subagents.errors import (
        AgentNotFound,
        InvalidCall,
        PiSubagentsError,
        ProfileError,
        SessionBusy,
        SessionNotFound,
        SettingsError,
        StoreError,
    )
    from pi_subagents.fold import RunState
    from pi_subagents.models import FileSlice, Profile, Reason, Status, Task, Usage
    from pi_subagents.models.event import Event
    from pi_subagents.runs.listing import sessions
    from pi_subagents.runs.run import Run, RunResult
    from pi_subagents.runs.sessions import Session

__version__ = "0.1.0"

_HOMES = {
    "AgentNotFound": "errors",
    "Delegation": "delegation.delegation",
    "Event": "models.event",
    "FileSlice": "models",
    "InvalidCall": "errors",
    "PiSubagentsError": "errors",
    "Profile": "models",
    "ProfileError": "errors",
    "Reason": "models",
    "Run": "runs.run",
    "RunResult": "runs.run",
    "RunState": "fold",
    "RunUpdate": "delegation.delegation",
    "Session": "runs.sessions",
    "SessionBusy": "errors",
    "SessionNotFound": "errors",
    "SettingsError": "errors",
    "Status": "models",
    "StoreError": "errors",
    "Task": "models",
    "Usage": "models",
    "delegate": "delegation.delegation",
    "sessions": "runs.listing",
}

__all__ = [
    "AgentNotFound",
    "Delegation",
    "Event",
    "FileSlice",
    "InvalidCall",
    "PiSubagentsError",
    "Profile",
    "ProfileError",
    "Reason",
    "Run",
    "RunResult",
    "RunState",
    "RunUpdate",
    "Session",
    "SessionBusy",
    "SessionNotFound",
    "SettingsError",
    "Status",
    "StoreError",
    "Task",
    "Usage",
    "delegate",
    "sessions",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
