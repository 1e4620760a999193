"""Checks whether this machine has what sub-agents need, and says what to do where it has not."""

from pi_subagents.diagnosis.diagnose import diagnose
from pi_subagents.diagnosis.finding import Finding

__all__ = ["Finding", "diagnose"]
