"""What a project's files may do, and who decided it: until the user trusts a project, its files are data."""

from pi_subagents.trust.powers import FIELDS, SETTINGS
from pi_subagents.trust.trust import TRUST_COMMAND, Decision, Decisions, Trust, pi_decision, trust_command

__all__ = [
    "FIELDS",
    "SETTINGS",
    "TRUST_COMMAND",
    "Decision",
    "Decisions",
    "Trust",
    "pi_decision",
    "trust_command",
]
