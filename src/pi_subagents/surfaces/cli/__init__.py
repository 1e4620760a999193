"""The `pi-subagents` command."""

from pi_subagents.surfaces.cli.app import main

__all__ = ["main"]
