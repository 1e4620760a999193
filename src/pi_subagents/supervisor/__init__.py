"""Drives runs: limits, loops, stops, and the one path every run takes."""

from pi_subagents.supervisor.limits import Limits
from pi_subagents.supervisor.supervisor import Observer, Supervisor

__all__ = ["Limits", "Observer", "Supervisor"]
