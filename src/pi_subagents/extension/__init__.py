"""TypeScript that `pi` loads. It registers, forwards and paints; every decision is made in Python."""

from pathlib import Path

PROTOCOL = 1
"""The version of what the extension and the bridge say to each other."""

_HERE = Path(__file__).parent

API_KEY_EXTENSION = _HERE / "api-key.ts"
"""Hands a profile's key to the provider and takes it out of the environment that tools inherit."""

COPILOT_EXTENSION = _HERE / "copilot.ts"
"""Marks the requests of a sub-agent as an agent's, where the provider tells the two apart."""

_PARTS = ("bridge.ts", "dialogs.ts", "host.ts", "painting.ts", "rendering.ts")

EXTENSION_FILES = {
    **{name: _HERE / name for name in _PARTS},
    "index.ts": _HERE / "pi-subagents.ts",
}
"""The extension for a person's own pi, under the names that pi looks for."""
