"""The handshake: answered before anything else is loaded, because `pi` shows what comes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi_subagents import __version__
from pi_subagents.extension import PROTOCOL
from pi_subagents.surfaces.bridge.messages import INVALID_PARAMS, UNSUPPORTED_PROTOCOL, Params, Refusal

COMMANDS = (
    {"name": "profile", "description": "List, show, create, edit and delete sub-agent profiles"},
    {"name": "subagents", "description": "Watch, steer and stop sub-agents, and read what they said"},
)


def greet(params: Params) -> dict[str, Any]:
    """The answer to `hello`; raises Refusal if the two sides cannot understand each other."""
    if params.get("protocol") != PROTOCOL:
        raise Refusal(
            UNSUPPORTED_PROTOCOL,
            f"pi-subagents {__version__} does not match its extension in pi, which is version "
            f"{params.get('extension')}: run 'pi-subagents install pi' and restart pi.",
        )
    extension, path = params.get("extension"), params.get("path")
    if not isinstance(extension, str):
        raise Refusal(INVALID_PARAMS, "extension: the version of the extension is missing")
    notice = _refresh(path) if extension != __version__ and isinstance(path, str) else None
    return {"protocol": PROTOCOL, "version": __version__, "notice": notice, "commands": list(COMMANDS)}


def _refresh(folder: str) -> str | None:
    """Bring the installed files up to date; what there is to say about it."""
    from pi_subagents.installing.pi_extension import refresh
    from pi_subagents.place import Place

    return refresh(Path(folder), __version__, Place.here())
