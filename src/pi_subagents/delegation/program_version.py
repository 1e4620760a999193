"""Which version of the agent program would be started, asked of itself once and remembered per program file.

Only who needs to know asks.
"""

from __future__ import annotations

from functools import cached_property

from pi_subagents.delegation.answers import Answers
from pi_subagents.harness.pi.programs import Program, child_path, fingerprint
from pi_subagents.harness.pi.versions import Version, version_in
from pi_subagents.paths import AGENT_DIR_VARIABLES, data_dir
from pi_subagents.place import Place
from pi_subagents.processes.query import ask

CACHE_FILE = "pi-versions.json"
_TIMEOUT_S = 10.0


class ProgramVersion:
    """The version of one program, found out when it is first looked at."""

    def __init__(self, program: Program, place: Place) -> None:
        self._program = program
        self._place = place
        self._path = child_path(place.environ, data_dir(place.environ))
        self._known: Answers[Version] = Answers(place.agent_dir / "subagents" / CACHE_FILE, Version)

    @cached_property
    def value(self) -> Version | None:
        """The version, or None where the program does not say."""
        key = fingerprint(self._program.argv, self._path)
        version = self._known.get(key)
        if version is None:
            version = self._ask()
            if version is not None:
                self._known.keep(key, version)
        return version

    def _ask(self) -> Version | None:
        own = dict.fromkeys(AGENT_DIR_VARIABLES, str(self._place.agent_dir))
        quiet = {"PATH": self._path, "PI_SKIP_VERSION_CHECK": "1", "PI_OFFLINE": "1", "PI_SUBAGENTS_CHILD": "1"}
        answer = ask(
            [*self._program.argv, "--version"],
            environ={**self._place.environ, **own, **quiet},
            timeout_s=_TIMEOUT_S,
            cwd=self._place.cwd,
        )
        return version_in(answer.text) if answer.ok else None
