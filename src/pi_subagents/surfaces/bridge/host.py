"""What is known of the `pi` on the other side, and what that means for the calls that come from it."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.paths import ancestors, home_dir
from pi_subagents.place import Place
from pi_subagents.runs.sessions import Sessions
from pi_subagents.surfaces.bridge.entries import Log
from pi_subagents.surfaces.bridge.parameters import HostColumns, HostModels, HostTools, SessionStart
from pi_subagents.tools import TOOLS

_NEEDS_TRUST = ("settings.json", "extensions", "skills", "prompts", "themes", "SYSTEM.md", "APPEND_SYSTEM.md")


class PiHost:
    """One `pi` with the conversation that is open in it at the moment."""

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.log = Log()
        self.tools: tuple[str, ...] = BUILTIN_TOOLS
        self.columns: int | None = None
        self._here = Place.here()
        self._models: tuple[str, ...] = ()
        self._trusted: bool | None = None
        self.sessions = Sessions(self._here)

    @property
    def owner(self) -> str:
        """Who is told of the ends of background runs that are launched now."""
        return f"pi:{self.session_id}" if self.session_id else "pi"

    @property
    def place(self) -> Place:
        """Where calls come from."""
        here = self._here
        return Place(here.cwd, here.agent_dir, here.environ, self._models, self._trusted)

    @property
    def models(self) -> tuple[str, ...]:
        return self._models

    def open(self, start: SessionStart) -> None:
        """Another conversation, or the same one anew."""
        log = Log() if start.reason == "new" else Log.of(start.entries, start.told)
        if start.session_id == self.session_id:  # what was written meanwhile may be missing from it
            log.add(self.log)
        self.session_id, self.log = start.session_id, log
        self._here = Place.here(Path(start.cwd))
        self._trusted = _decided(start.trusted, self._here.cwd)
        self.sessions = Sessions(self._here)

    def take_tools(self, tools: HostTools) -> None:
        """Which tools agents have is decided by what `pi` has, less our own."""
        self.tools = tuple(name for name in tools.names if name not in TOOLS)

    def take_columns(self, columns: HostColumns) -> None:
        """How wide the screen is now."""
        self.columns = columns.columns

    def take_models(self, models: HostModels) -> None:
        """Models that `pi` says it offers need not be asked for."""
        self._models = tuple(f"{model.provider}/{model.id}" for model in models.models)


def _decided(trusted: bool | None, cwd: Path) -> bool | None:
    """What somebody decided; where there was nothing to decide, pi says yes, and that must not count for what comes."""
    return trusted if trusted is not True or _needed_a_decision(cwd) else None


def _needed_a_decision(cwd: Path) -> bool:
    if any((cwd / ".pi" / name).exists() for name in _NEEDS_TRUST):
        return True
    skills = (above / ".agents" / "skills" for above in ancestors(cwd))
    return any(folder.exists() and folder != home_dir() / ".agents" / "skills" for folder in skills)
