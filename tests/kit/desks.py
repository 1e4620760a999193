"""A project with a scripted agent, a profile and a preset, where a host has its user's agents work."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from pi_subagents.testing import MODELS_VARIABLE, prints
from pi_subagents.testing.records import answer
from tests.kit.processes import command_line
from tests.kit.waiting import PATIENCE_S
from tests.kit.workplace import Workplace
from tests.process.kit import MODEL, furnish

DONE = prints(*answer("All is well."))
"""An agent that has nothing else to say."""

_TELLING = """
import sys
sys.argv = ["pi-subagents", sys.argv[1]]
from pi_subagents.processes import wire
write = wire.Wire.write
def telling(self, message):
    write(self, message)
    write(self, " ".join(sys.modules).encode())
    sys.exit()
wire.Wire.write = telling
from pi_subagents.surfaces.cli import main
main()
"""


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

    def first_answer(self, message: bytes) -> tuple[dict[str, Any], set[str]]:
        """What the server answers to its first message, and the modules that it had loaded by then."""
        command = [sys.executable, "-c", _TELLING, self.server]
        done = subprocess.run(
            command, input=message + b"\n", capture_output=True, env=self.environ, timeout=PATIENCE_S, check=True
        )
        answer, loaded = done.stdout.splitlines()
        return json.loads(answer)["result"], set(loaded.decode().split())
