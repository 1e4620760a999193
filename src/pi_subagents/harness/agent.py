"""The base of all harnesses except those of `pi`: one program with one mode, found and asked in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec

from pi_subagents.errors import ProfileError
from pi_subagents.harness.contract import Conversation, InspectionCheck, Launch, Program, Question, Report, UnknownTool
from pi_subagents.harness.pi.programs import child_path
from pi_subagents.harness.programs import find_agent_program, how_to_log_in
from pi_subagents.models.task import Profile

if TYPE_CHECKING:
    from pi_subagents.place import Place
    from pi_subagents.settings import Settings


class Probe(msgspec.Struct, frozen=True):
    """How to ask an agent whether it can run: its arguments and input, and what it prints if it can."""

    arguments: tuple[str, ...]
    stdin: bytes = b""
    until: str | None = None


class Agent:
    """Defaults for the members of a harness; see `Harness` for what each means."""

    name: str
    honours: frozenset[str]
    reports: frozenset[Report] = frozenset()
    conversation_files: Sequence[str] = ()
    can_steer = False
    can_be_kept = False
    fallback = None
    lists_models = False
    levels: ClassVar[Mapping[str, str]] = {}
    keeps_in: tuple[str, ...] = ("TMPDIR",)
    """Variables for the directories in which it leaves something when it is asked for its version."""
    log_in = ""
    """How to log in, as the end of a sentence that begins with "to log in: "."""

    @property
    def steerable_as(self) -> str | None:
        return self.name if self.can_steer else None

    def find_program(self, place: Place, settings: Settings, profile: Profile | None = None) -> Program:
        return find_agent_program(self.name, place.environ, profile)

    def version_question(self, program: Program, place: Place) -> Question:
        return Question((*program.argv, "--version"), self.environ(place), self.keeps_in)

    def environ(self, place: Place) -> dict[str, str]:
        """The environment for questions, with our own Node on the PATH for programs that need one."""
        return {**place.environ, "PATH": child_path(place.environ)}

    def mode_question(self, program: Program, place: Place) -> Question | None:
        return None

    def has_mode(self, answer: str) -> bool:
        return True

    def credentials(self, place: Place) -> str | None:
        return None

    def advice(self, launch: Launch) -> str:
        """How to log in, if neither a login nor a key was found: a provider may need none, so the run starts anyway."""
        profile = launch.profile
        if self.credentials(launch.place) or (profile and (profile.api_key or profile.inherit)):
            return ""
        return f"no login or key for {self.name} was found: {how_to_log_in(launch.program, self.name, self.log_in)}"

    def default_provider(self, cwd: Path, agent_dir: Path) -> str | None:
        return None

    def unknown_tools(self, profile: Profile, cwd: Path, agent_dir: Path) -> Iterable[UnknownTool]:
        return ()

    def refuses(self, profile: Profile) -> str | None:
        return None

    def refuses_place(self, profile: Profile | None, place: Place, cwd: Path) -> str | None:
        return None

    def can_continue(self, conversation: Conversation, profile: Profile | None) -> bool:
        return True

    def own_level(self, level: str) -> str:
        return self.levels.get(level, level)

    def adapt(self, profile: Profile, available_tools: Sequence[str]) -> Profile:
        """The profile as it is; raises ProfileError if it has two lists of tools."""
        if profile.tools is not None and profile.exclude_tools is not None:
            raise ProfileError(f'Profile "{profile.name}" has both "tools" and "excludeTools" set; choose one of them.')
        return profile

    # --- whether it can run here --------------------------------------------------------------------------

    def probe(self) -> Probe:
        """How to ask it; by default only for its version."""
        return Probe(("--version",))

    def checks(self) -> Sequence[InspectionCheck]:
        from pi_subagents.harness.checks import check_agent  # only `doctor` needs it

        return (partial(check_agent, self),)


def agent_environ(launch: Launch) -> dict[str, str]:
    """The environment for a run, with what `install-agent` and `install-pi` installed on the PATH."""
    return {**launch.environ, "PATH": child_path(launch.environ)}
