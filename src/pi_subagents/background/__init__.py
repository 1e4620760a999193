"""Runs that outlive whoever started them: each is held by a keeper, a small process of its own."""

from pi_subagents.background.launch import launch, launch_all

__all__ = ["launch", "launch_all"]
