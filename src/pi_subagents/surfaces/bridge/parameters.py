"""What the extension's messages say, checked."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec


class SessionStart(msgspec.Struct, frozen=True, rename="camel"):
    """The conversation in `pi` that calls come from now."""

    session_id: str
    cwd: str
    reason: str = "startup"
    session_file: str | None = None
    parent_session: str | None = None
    trusted: bool | None = None
    entries: list[Any] = []
    told: list[Any] = []


class Model(msgspec.Struct, frozen=True):
    """A model that `pi` offers."""

    provider: str
    id: str


class HostTools(msgspec.Struct, frozen=True):
    """The tools that `pi` has, active or not."""

    names: list[str]


class HostColumns(msgspec.Struct, frozen=True):
    """How wide pi's screen is; None where it has none."""

    columns: Annotated[int, msgspec.Meta(ge=1)] | None = None


class HostModels(msgspec.Struct, frozen=True):
    """The models that `pi` offers, in its order."""

    models: list[Model]


class ToolCall(msgspec.Struct, frozen=True):
    """A call of one of our tools by the model."""

    call: str
    name: str
    arguments: Any = None


class Cancel(msgspec.Struct, frozen=True):
    """The call that nobody waits for any more."""

    call: str


class Command(msgspec.Struct, frozen=True):
    """A command that somebody typed, or begins to type."""

    command: str
    arguments: str = ""
    prefix: str = ""


class ScreenEvent(msgspec.Struct, frozen=True):
    """Something that happened to a screen."""

    screen: str | int
    key: str = ""
    height: int | None = None
    columns: int | None = None
