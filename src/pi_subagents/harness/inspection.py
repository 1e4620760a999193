"""What a harness is given to look for its program and to say what is missing. It starts nothing by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pi_subagents.models.finding import Finding

if TYPE_CHECKING:  # both are made of settings, which ask this package for the names of harnesses
    from pi_subagents.place import Place
    from pi_subagents.settings import Settings

Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Program:
    """A command line to start an agent with, and which of the places that were looked at it came from."""

    argv: tuple[str, ...]
    found_in: str


@dataclass(frozen=True, slots=True)
class Question:
    """A short question to a program, such as for its version."""

    argv: tuple[str, ...]
    environ: Mapping[str, str] = field(repr=False)


class Answer(Protocol):
    """What a program printed; `exit_code` is None if it did not start or did not end in time."""

    @property
    def exit_code(self) -> int | None: ...

    @property
    def text(self) -> str: ...

    @property
    def ok(self) -> bool: ...


class Ask(Protocol):
    """Runs a program and returns what it says; its failure is an answer too."""

    def __call__(
        self, argv: Sequence[str], *, environ: Mapping[str, str], timeout_s: float, cwd: Path | None = None
    ) -> Answer: ...


@dataclass(frozen=True)
class Inspection:
    """Where `doctor` looks, and how it asks programs."""

    place: Place
    settings: Settings
    ask: Ask


InspectionCheck = Callable[[Inspection], Iterable[Finding]]
