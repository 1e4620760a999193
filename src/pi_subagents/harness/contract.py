"""What an agent program must be able to tell us about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pi_subagents.jsonl import Frame
from pi_subagents.models.event import AnyEvent
from pi_subagents.models.profile import Profile


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything a harness needs to know to write a command line.

    `conversation` is an earlier run's own session file, to be continued instead of begun. `trusted` says what was
    decided about the project's own extensions and settings; None leaves it to the agent. `has_copilot` says whether
    `pi` could choose a model of GitHub Copilot's where the profile names no provider. `version` is the program's, where
    it makes a difference.
    """

    program: tuple[str, ...]
    prompt: str
    cwd: Path
    run_dir: Path
    agent_dir: Path
    environ: Mapping[str, str] = field(repr=False)
    profile: Profile | None = None
    agent_dir_entries: tuple[str, ...] = ()
    conversation: bytes = field(default=b"", repr=False)
    trusted: bool | None = None
    max_depth: int = 1
    has_copilot: bool = False
    version: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class RunFile:
    """A file or link that must exist in the run directory before the agent starts."""

    name: str
    content: bytes = b""
    link_to: Path | None = None


class Renewal(Protocol):
    """How a process that has done another task is made ready for this one, with nothing left of the other.

    Only a process of the same `fingerprint` can be: one that was started with the same program, arguments,
    instructions, environment and directory.
    """

    @property
    def fingerprint(self) -> str: ...

    @property
    def reads(self) -> Mapping[Path, bytes]:
        """Files that the process reads again then, with what they must still say."""
        ...

    @property
    def request(self) -> bytes:
        """What to send to a process that has nothing to do."""
        ...

    def identity(self, frame: bytes) -> str | None:
        """What the process says it is, if this record tells: which model, and how it thinks."""
        ...

    def heard(self, frame: bytes) -> bytes | bool:
        """Whether a fresh conversation has begun, False meaning that it will not.

        Until the process has said so: what to send to it next, which may be nothing.
        """
        ...


@dataclass(frozen=True, slots=True)
class Invocation:
    """How to start the agent: argv, environment, standard input, and the files it will look for.

    With `interactive` standard input stays open for what is said later. `temporary` names what is of no use after the
    run; `written_by_agent` what the agent writes past our eyes. Without `renewal` the task needs a process of its own.
    """

    argv: tuple[str, ...]
    environ: Mapping[str, str] = field(repr=False)
    cwd: Path
    stdin: bytes = field(repr=False)
    interactive: bool = False
    files: tuple[RunFile, ...] = ()
    temporary: tuple[str, ...] = ()
    written_by_agent: tuple[str, ...] = ()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    renewal: Renewal | None = field(default=None, repr=False)


class Decoder(Protocol):
    """Turns the agent's output records into events; keeps what it must remember between them."""

    def decode(self, frame: Frame, at: int) -> list[AnyEvent]:
        """The events one record stands for; never raises, whatever the bytes are."""
        ...

    def take_replies(self) -> bytes:
        """What must be sent to the agent because of what was decoded since the last call."""
        ...


class Harness(Protocol):
    """One agent program in one of its modes."""

    @property
    def name(self) -> str: ...

    @property
    def conversation_file(self) -> str:
        """Where in the run directory the agent keeps its own conversation."""
        ...

    @property
    def can_steer(self) -> bool:
        """Whether a running agent can be told something."""
        ...

    def invocation(self, launch: Launch) -> Invocation:
        """How to start this agent for `launch`."""
        ...

    def steer(self, text: str) -> bytes:
        """What to send so that the agent hears `text` before its next turn; only where `can_steer`."""
        ...

    def abort(self) -> bytes:
        """What to send so that the agent stops by itself; nothing where the protocol has no such request."""
        ...

    def decoder(self) -> Decoder:
        """A fresh decoder for one run."""
        ...
