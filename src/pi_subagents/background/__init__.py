"""Runs that outlive whoever started them: each is held by a keeper, a small process of its own."""

from pi_subagents.background.launch import BackgroundRun, launch

__all__ = ["BackgroundRun", "launch"]
