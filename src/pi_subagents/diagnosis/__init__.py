"""Checks whether this machine has what sub-agents need, and says what to do where it has not."""

from pi_subagents.diagnosis.diagnose import diagnose, inspection_of

__all__ = ["diagnose", "inspection_of"]
