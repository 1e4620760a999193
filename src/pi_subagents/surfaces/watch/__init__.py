"""All runs of this machine on one screen, kept up to date from their journals (textual)."""

from pi_subagents.surfaces.watch.app import WatchApp, watch

__all__ = ["WatchApp", "watch"]
