"""Checks whether this machine has what sub-agents need, and says what to do where it has not."""

from pi_subagents.diagnosis.agent import check_agent, check_model
from pi_subagents.diagnosis.diagnose import diagnose
from pi_subagents.diagnosis.finding import Finding
from pi_subagents.diagnosis.situation import Situation

__all__ = ["Finding", "Situation", "check_agent", "check_model", "diagnose"]
