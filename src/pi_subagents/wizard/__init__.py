"""`/profile` and its wizard: everything but the widgets, which the host brings as `Dialogs`."""

from pi_subagents.wizard.command import profile_command
from pi_subagents.wizard.completion import Completion, completions
from pi_subagents.wizard.dialogs import CANCELLED, Cancelled, Dialogs, Level
from pi_subagents.wizard.flow import create, delete, edit
from pi_subagents.wizard.host import Host
from pi_subagents.wizard.scopes import files_of, require_free, require_one

__all__ = [
    "CANCELLED",
    "Cancelled",
    "Completion",
    "Dialogs",
    "Host",
    "Level",
    "completions",
    "create",
    "delete",
    "edit",
    "files_of",
    "profile_command",
    "require_free",
    "require_one",
]
