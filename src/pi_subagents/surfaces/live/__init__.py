"""The inline live view: a rolling window per sub-agent, drawn below whatever the terminal showed before."""

from pi_subagents.surfaces.live.view import LiveView, OneRun

__all__ = ["LiveView", "OneRun"]
