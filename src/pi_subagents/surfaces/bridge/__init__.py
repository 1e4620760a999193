"""The bridge to `pi`: the other half of the extension that puts the tools into it."""

from pi_subagents.surfaces.bridge.handshake import serve

__all__ = ["serve"]
