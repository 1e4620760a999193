"""A harness for `echo_program`, to show what a harness can say that is not like `pi`, and how little it must say.

The task is in a file, answers are plain lines, the exit code is the end. Nothing can be said to a running agent, none
is kept for the next task, and there is no conversation to go on with: what came before is retold.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness import (
    Conversation,
    Dialogue,
    Inspection,
    InspectionCheck,
    Invocation,
    Launch,
    Program,
    Report,
    RunFile,
    UnknownTool,
)
from pi_subagents.jsonl import Frame, Oversized
from pi_subagents.models import event as ev
from pi_subagents.models.finding import Finding
from pi_subagents.models.task import Profile

if TYPE_CHECKING:
    from pi_subagents.place import Place
    from pi_subagents.settings import Settings

ECHO_VARIABLE = "PI_SUBAGENTS_ECHO"
"""Names another file than ours to be run by this Python."""
_TASK_FILE = "task.txt"
_TIMEOUT_S = 10.0


class EchoHarness:
    """`python echo_program.py task.txt`."""

    name = "echo"
    conversation_files = ()
    can_steer = False
    can_be_kept = False
    steerable_as = None
    fallback = None
    lists_models = False
    reports: frozenset[Report] = frozenset()
    honours = frozenset({"system_prompt"})

    def find_program(self, place: Place, settings: Settings, profile: Profile | None = None) -> Program:
        """The file that the variable names, else ours; raises AgentNotFound."""
        named = place.environ.get(ECHO_VARIABLE)
        path = Path(named) if named else Path(__file__).with_name("echo_program.py")
        if not path.is_file():
            raise AgentNotFound(f"The echo agent was not found: {path}, named by the variable {ECHO_VARIABLE}")
        found_in = f"variable {ECHO_VARIABLE}" if named else "pi-subagents itself"
        return Program((sys.executable, "-I", "-S", str(path)), found_in)

    def version_question(self, program: Program, place: Place) -> None:
        """No command line depends on the version."""

    def mode_question(self, program: Program, place: Place) -> None:
        """It has one mode."""

    def has_mode(self, answer: str) -> bool:
        """The only one."""
        return True

    def checks(self) -> Sequence[InspectionCheck]:
        """Whether it starts."""
        return (_check_echo,)

    def credentials(self, place: Place) -> str | None:
        """It needs none."""
        return None

    def default_provider(self, cwd: Path, agent_dir: Path) -> str | None:
        """It asks nobody."""
        return None

    def unknown_tools(self, profile: Profile, cwd: Path, agent_dir: Path) -> Iterable[UnknownTool]:
        """None: a profile with a list of tools is refused as a whole."""
        return ()

    def refuses(self, profile: Profile) -> str | None:
        """Nothing of what it honours."""
        return None

    def refuses_place(self, profile: Profile | None, place: Place, cwd: Path) -> str | None:
        """None: it reads nothing but its task."""
        return None

    def can_continue(self, conversation: Conversation, profile: Profile | None) -> bool:
        """It leaves nothing to go on with."""
        return False

    def own_level(self, level: str) -> str:
        """It does not think, so a level is refused as a whole."""
        return level

    def adapt(self, profile: Profile, available_tools: Sequence[str]) -> Profile:
        """As it is."""
        return profile

    def invocation(self, launch: Launch) -> Invocation:
        """The task in a file, below the instructions."""
        instructions = launch.profile.system_prompt if launch.profile else None
        task = "\n".join(filter(None, (instructions, launch.prompt)))
        return Invocation(
            argv=(*launch.program.argv, str(launch.run_dir / _TASK_FILE)),
            environ=launch.environ,
            cwd=launch.cwd,
            stdin=b"",
            files=(RunFile(_TASK_FILE, task.encode("utf-8", "replace")),),
            temporary=(_TASK_FILE,),
            secrets=launch.secrets,
        )

    def dialogue(self, invocation: Invocation) -> Dialogue:
        """A fresh dialogue for one run."""
        return _EchoDialogue()


class _EchoDialogue:
    """Lines are the answer while it is being written; it is whole when the program has exited with code 0."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._calls = 0

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        """The events one line stands for; never raises."""
        if isinstance(frame, Oversized):
            return [ev.Dropped(at=at, size=frame.size, head=frame.head.decode("utf-8", "replace"))]
        line = frame.decode("utf-8", "replace")
        begun: list[ev.AnyEvent] = [] if self._lines or self._calls else [ev.AgentStarted(at=at)]
        if line.startswith("> "):
            return [*begun, self._call(line, at)]
        self._lines.append(line)
        return [*begun, ev.Delta(at=at, kind="text", text=f"{line}\n")]

    def take_replies(self) -> bytes:
        """It wants no answer."""
        return b""

    def ended(self, exit_code: int, at: int) -> list[ev.AnyEvent]:
        """The whole answer; of a program that failed, what it has said so far is all there is."""
        if exit_code:
            return []
        parts = (ev.TextPart("\n".join(self._lines)),)
        return [ev.Message(at=at, role="assistant", parts=parts, stop_reason="stop"), ev.AgentSettled(at=at)]

    def steer(self, text: str) -> None:
        """There is no way to say anything more."""

    def abort(self) -> bytes:
        """It is asked with a signal."""
        return b""

    def answer(self, request_id: str, *, allowed: bool) -> bytes:
        """It never asks."""
        return b""

    def _call(self, line: str, at: int) -> ev.Message:
        self._calls += 1
        name, _, argument = line.removeprefix("> ").partition(" ")
        call = ev.ToolCallPart(str(self._calls), name, {"command": argument})
        return ev.Message(at=at, role="assistant", parts=(call,), stop_reason="toolUse")


def _check_echo(inspection: Inspection) -> Iterator[Finding]:
    try:
        program = EchoHarness().find_program(inspection.place, inspection.settings)
    except AgentNotFound as error:
        yield Finding("echo", False, str(error), f"unset {ECHO_VARIABLE}", needed=True)
        return
    argv, environ = [*program.argv, "--version"], inspection.place.environ
    answer = inspection.ask(argv, environ=environ, timeout_s=_TIMEOUT_S)
    shown = f"{answer.text.strip()} (found via {program.found_in})"
    yield Finding("echo", answer.ok, shown, "" if answer.ok else f"mend {program.argv[-1]}", needed=True)
