"""The `pi` coding agent as a harness: what both its modes have in common, and JSON mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.harness.contract import (
    Conversation,
    Dialogue,
    InspectionCheck,
    Invocation,
    Launch,
    Program,
    Question,
    Report,
    UnknownTool,
)
from pi_subagents.harness.pi.arguments import (
    BUILTIN_TOOLS,
    SESSION_FILE,
    apply_exclude_tools,
    check_extra_args,
    check_tools,
    is_tool,
    pi_invocation,
)
from pi_subagents.harness.pi.decoder import PiDecoder
from pi_subagents.harness.pi.programs import child_environ, credentials, default_provider, find_pi, has_extensions
from pi_subagents.models.task import Profile
from pi_subagents.text.wording import did_you_mean

if TYPE_CHECKING:
    from pi_subagents.place import Place
    from pi_subagents.settings import Settings

_QUIET = {"PI_SKIP_VERSION_CHECK": "1", "PI_OFFLINE": "1", "PI_SUBAGENTS_CHILD": "1"}


def _question(program: Program, place: Place, option: str) -> Question:
    return Question((*program.argv, option), {**child_environ(place.environ, place.agent_dir), **_QUIET})


class Pi:
    """`pi`, in whichever mode."""

    conversation_files = (SESSION_FILE,)
    steerable_as = "pi-rpc"
    lists_models = True
    reports: frozenset[Report] = frozenset({"cost", "progress", "retries", "thinking"})
    honours = frozenset(
        {"provider", "model", "thinking_level", "system_prompt", "append_system_prompt", "api_key", "extra_args"}
        | {"tools", "no_tools", "exclude_tools", "extensions", "no_extensions", "no_context_files"}
        | {"suggested_skills", "load_skills", "no_skills"}
    )

    def find_program(self, place: Place, settings: Settings, profile: Profile | None = None) -> Program:
        """The first `pi` of the documented places; raises AgentNotFound."""
        return find_pi(settings.pi_command, place.environ)

    def version_question(self, program: Program, place: Place) -> Question:
        """The lines of `pi` differ in how tools are restricted."""
        return _question(program, place, "--version")

    def mode_question(self, program: Program, place: Place) -> Question | None:
        """Its help lists its modes."""
        return _question(program, place, "--help")

    def checks(self) -> Sequence[InspectionCheck]:
        """`pi` itself, the Node it runs on, what its tools need, and whether it has a model."""
        from pi_subagents.harness.pi.checks import CHECKS  # only `doctor` needs them

        return CHECKS

    credentials = staticmethod(credentials)
    default_provider = staticmethod(default_provider)

    def refuses(self, profile: Profile) -> str | None:
        """Nothing: whatever it honours reaches it as it is."""
        return None

    def refuses_place(self, profile: Profile | None, place: Place, cwd: Path) -> str | None:
        """None: `pi` itself keeps out what a project that is not trusted brings."""
        return None

    def can_continue(self, conversation: Conversation, profile: Profile | None) -> bool:
        """Its conversation is always in its run directory, and whatever began it can be continued."""
        return True

    def own_level(self, level: str) -> str:
        """Our thinking levels are those of `pi`."""
        return level

    def adapt(self, profile: Profile, available_tools: Sequence[str]) -> Profile:
        """With an allow-list for what is excluded; raises ProfileError."""
        check_tools(profile)
        check_extra_args(profile)
        return apply_exclude_tools(profile, available_tools)

    def unknown_tools(self, profile: Profile, cwd: Path, agent_dir: Path) -> Iterator[UnknownTool]:
        """The tools in its lists that nothing brings; where extensions may bring tools, nobody can say."""
        if profile.no_tools or profile.extensions is not None or profile.extra_args:
            return
        if not profile.no_extensions and has_extensions(agent_dir, cwd / ".pi"):
            return
        for key, names in (("tools", profile.tools), ("excludeTools", profile.exclude_tools)):
            for name in names or ():
                if not is_tool(name):
                    yield UnknownTool(key, name, did_you_mean(name, BUILTIN_TOOLS))


class PiJson(Pi):
    """`pi --mode json -p`. Once started it cannot be spoken to."""

    name = "pi-json"
    can_steer = False
    can_be_kept = False
    fallback = None

    def has_mode(self, answer: str) -> bool:
        """Every version has it."""
        return True

    def invocation(self, launch: Launch) -> Invocation:
        return pi_invocation(launch, ("--mode", "json", "-p"), launch.prompt.encode("utf-8", "replace"))

    def dialogue(self, invocation: Invocation) -> Dialogue:
        return PiDecoder()
