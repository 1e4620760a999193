"""`/profile` and its wizard: everything but the widgets, which the host brings as `Dialogs`."""

from pi_subagents.wizard.command import NONE_FOUND, Action, choose_name, completions, profile_command
from pi_subagents.wizard.flow import create, delete, edit, files_of, require_free, require_one
from pi_subagents.wizard.questions import CANCELLED, Cancelled, Level
from pi_subagents.wizard.steps import Host

__all__ = [
    "CANCELLED",
    "NONE_FOUND",
    "Action",
    "Cancelled",
    "Host",
    "Level",
    "choose_name",
    "completions",
    "create",
    "delete",
    "edit",
    "files_of",
    "profile_command",
    "require_free",
    "require_one",
]
