"""What a `pi` process reads once, when it starts, and never again; and whether it may be kept at all."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_subagents.files import read_bounded
from pi_subagents.harness.contract import Invocation, Launch
from pi_subagents.harness.pi.launch import COPILOT, PiNeeds

if TYPE_CHECKING:
    from pi_subagents.place import Place


_READ_ONCE = ("auth.json", "models.json", "settings.json", "trust.json")
_SERVERS = "mcp.json"
_OUR_EXTENSION = "pi-subagents"
"""Does nothing in a child, so it remembers nothing."""


def surroundings(invocation: Invocation) -> dict[Path, str] | None:
    """Those files as they are now; None where extensions or MCP servers are loaded, which may remember earlier tasks.

    A file that is not there is left out: `pi` makes some of them itself when it starts.
    """
    agent_dir = Path(invocation.environ["PI_AGENT_DIR"])
    project = invocation.cwd / ".pi"
    if "--no-extensions" not in invocation.argv:
        if has_extensions(agent_dir, project):
            return None
        if "--no-mcp" not in invocation.argv and any((folder / _SERVERS).exists() for folder in (agent_dir, project)):
            return None
    files = [folder / name for folder in (agent_dir, project) for name in _READ_ONCE]
    return {path: signature for path in files if (signature := _signature(path))}


def default_provider(cwd: Path, agent_dir: Path) -> str | None:
    """Whom an agent asks that is not told whom to ask, as far as the settings of `pi` say."""
    for folder in (cwd / ".pi", agent_dir):
        provider = _settings(folder / "settings.json").get("defaultProvider")
        if isinstance(provider, str) and provider:
            return provider
    return None


def default_model(folders: Iterable[Path], provider: str) -> str | None:
    """The model that the settings of `pi` in these folders name as the default, if it is one of that provider's."""
    for folder in folders:
        settings = _settings(folder / "settings.json")
        model = settings.get("defaultModel")
        if settings.get("defaultProvider") == provider and isinstance(model, str) and model and model.isprintable():
            return model
    return None


def has_extensions(agent_dir: Path, project: Path) -> bool:
    """Whether agents may have extensions: in the agent directory, or in the `.pi` of where they work."""
    return any(_entries(folder / "extensions") or _named(folder / "settings.json") for folder in (agent_dir, project))


def _entries(folder: Path) -> list[str]:
    with suppress(OSError):
        return [path.name for path in folder.iterdir() if path.name != _OUR_EXTENSION]
    return []


def _named(settings: Path) -> bool:
    document = _settings(settings)
    return any(_some(document.get(key)) for key in ("extensions", "packages"))


def _settings(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        document: Any = json.loads(read_bounded(path))
        if isinstance(document, dict):
            return document
    return {}


def _some(value: object) -> bool:
    return bool(value) and isinstance(value, Iterable)


def _signature(path: Path) -> str | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"


def needs_of(launch: Launch) -> PiNeeds:
    """What `pi` must be told for this task."""
    place, profile = launch.place, launch.profile
    return PiNeeds(
        agent_dir=place.agent_dir,
        agent_dir_entries=_all_entries(place) if profile is not None and profile.api_key is not None else (),
        trusted=place.approval(launch.cwd),
        has_copilot=_has_copilot(place),
        version=launch.version() if profile is not None and profile.restricts_tools else None,
    )


def _all_entries(place: Place) -> tuple[str, ...]:
    return tuple(sorted(path.name for path in place.agent_dir.iterdir())) if place.agent_dir.is_dir() else ()


def _has_copilot(place: Place) -> bool:
    """Whether there is a credential with which `pi` could choose a model of GitHub Copilot's by itself."""
    if place.environ.get("COPILOT_GITHUB_TOKEN"):
        return True
    with suppress(OSError):
        return f'"{COPILOT}"'.encode() in read_bounded(place.agent_dir / "auth.json")
    return False
