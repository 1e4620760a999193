"""A project with a scripted agent, a profile and a preset, where a host has its user's agents work."""

from __future__ import annotations

from dataclasses import dataclass

from pi_subagents.testing import MODELS_VARIABLE, prints
from pi_subagents.testing.records import answer
from tests.kit.processes import command_line
from tests.kit.workplace import Workplace
from tests.process.kit import MODEL, furnish

DONE = prints(*answer("All is well."))
"""An agent that has nothing else to say."""


@dataclass
class HostDesk:
    """Where one host works; `server` is the command that it starts."""

    stage: Workplace
    server = ""

    def __post_init__(self) -> None:
        furnish(self.stage)

    @property
    def environ(self) -> dict[str, str]:
        return {**self.stage.environ, MODELS_VARIABLE: f"{MODEL} acme/small"}

    def agents(self) -> list[int]:
        """The processes of agents, wrappers included; those of the host and its server are not meant."""
        server = f"pi_subagents\0{self.server}".encode()
        return [pid for pid in self.stage.processes() if server not in command_line(pid)]
