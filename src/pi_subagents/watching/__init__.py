"""Runs that people watch: which there are, and how each of them stands, read as cheaply as possible."""

from pi_subagents.watching.roster import News, Roster
from pi_subagents.watching.runs import WatchedRun

__all__ = ["News", "Roster", "WatchedRun"]
