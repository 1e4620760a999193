"""`background`: runs that go on when the terminal does something else, or is gone."""

from pi_subagents.surfaces.cli.background.group import background

__all__ = ["background"]
