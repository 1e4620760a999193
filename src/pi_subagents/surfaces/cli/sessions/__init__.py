"""`sessions`: what was run, and what can still be done with it."""

from pi_subagents.surfaces.cli.sessions.group import sessions

__all__ = ["sessions"]
