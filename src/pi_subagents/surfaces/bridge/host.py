"""What is known of the `pi` on the other side, and what that means for the calls that come from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.place import Place
from pi_subagents.runs.sessions import Sessions
from pi_subagents.surfaces.bridge.entries import Log
from pi_subagents.tools import TOOLS
from pi_subagents.trust import pi_protects


class SessionStart(msgspec.Struct, frozen=True, rename="camel"):
    """The conversation in `pi` that calls come from now."""

    session_id: str
    cwd: str
    reason: str = "startup"
    trusted: bool | None = None
    entries: list[Any] = []
    told: list[Any] = []


class HostTools(msgspec.Struct, frozen=True):
    """The tools that `pi` has, active or not."""

    names: list[str]


class HostColumns(msgspec.Struct, frozen=True):
    """How wide pi's screen is; None where it has none."""

    columns: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Model(msgspec.Struct, frozen=True):
    """A model that `pi` offers."""

    provider: str
    id: str


class HostModels(msgspec.Struct, frozen=True):
    """The models that `pi` offers, in its order."""

    models: list[Model]


class PiHost:
    """One `pi` with the conversation that is open in it at the moment."""

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.log = Log()
        self.tools: tuple[str, ...] = BUILTIN_TOOLS
        self.columns: int | None = None
        self.place = Place.here()
        """Where calls come from."""
        self.sessions = Sessions(self.place)

    @property
    def owner(self) -> str:
        """Who is told of the ends of background runs that are launched now."""
        return f"pi:{self.session_id}" if self.session_id else "pi"

    def open(self, start: SessionStart) -> None:
        """Another conversation, or the same one anew."""
        log = Log() if start.reason == "new" else Log.of(start.entries, start.told)
        if start.session_id == self.session_id:  # what was written meanwhile may be missing from it
            log.add(self.log)
        self.session_id, self.log = start.session_id, log
        here = Place.here(Path(start.cwd))
        self.place = replace(here, models=self.place.models, trusted=_decided(start.trusted, here.cwd))
        self.sessions = Sessions(self.place)

    def take_tools(self, tools: HostTools) -> None:
        """Which tools agents have is decided by what `pi` has, less our own."""
        self.tools = tuple(name for name in tools.names if name not in TOOLS)

    def take_columns(self, columns: HostColumns) -> None:
        """How wide the screen is now."""
        self.columns = columns.columns

    def take_models(self, models: HostModels) -> None:
        """Models that `pi` says it offers need not be asked for."""
        self.place = replace(self.place, models=tuple(f"{model.provider}/{model.id}" for model in models.models))


def _decided(trusted: bool | None, cwd: Path) -> bool | None:
    """What somebody decided; where there was nothing to decide, pi says yes, and that must not count for what comes."""
    return trusted if trusted is not True or any(pi_protects(cwd)) else None
