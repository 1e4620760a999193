"""The words of the system as data: tasks, profiles, runs, events. No behaviour that touches the world."""

from pi_subagents.models.run import (
    Reason,
    Status,
    Usage,
    begun_at,
    is_run_id,
    new_run_id,
    new_session_id,
    short_id,
    short_ids,
    status_for,
    transition,
)
from pi_subagents.models.task import (
    DEFAULT_TIMEOUT_S,
    MAX_CONCURRENCY,
    MAX_TASKS,
    FileSlice,
    FileSpec,
    Profile,
    Secret,
    Task,
    ThinkingLevel,
)

__all__ = [
    "DEFAULT_TIMEOUT_S",
    "MAX_CONCURRENCY",
    "MAX_TASKS",
    "FileSlice",
    "FileSpec",
    "Profile",
    "Reason",
    "Secret",
    "Status",
    "Task",
    "ThinkingLevel",
    "Usage",
    "begun_at",
    "is_run_id",
    "new_run_id",
    "new_session_id",
    "short_id",
    "short_ids",
    "status_for",
    "transition",
]
