"""The `pi-subagents` command."""

from pi_subagents.surfaces.cli.app import main, run_program

__all__ = ["main", "run_program"]
