"""Checks whether this machine has what sub-agents need, and says what to do where it has not."""

from pi_subagents.diagnosis.diagnose import diagnose
from pi_subagents.diagnosis.situation import Situation

__all__ = ["Situation", "diagnose"]
