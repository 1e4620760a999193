"""Drives runs: limits, loops, stops, and the one path every run takes."""

from pi_subagents.supervisor.holder import Holder
from pi_subagents.supervisor.limits import Limits, Pacing
from pi_subagents.supervisor.recorder import Observer
from pi_subagents.supervisor.supervisor import REQUEST_INTERVAL_S, Supervisor

__all__ = ["REQUEST_INTERVAL_S", "Holder", "Limits", "Observer", "Pacing", "Supervisor"]
