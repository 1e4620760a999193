"""The inline live view: a rolling window per sub-agent, drawn below whatever the terminal showed before."""

from pi_subagents.surfaces.live.shown import OneRun, Shown
from pi_subagents.surfaces.live.view import LiveView

__all__ = ["LiveView", "OneRun", "Shown"]
