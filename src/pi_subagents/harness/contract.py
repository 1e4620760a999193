"""What a harness must be able to do: find its agent program, start it, and talk to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from pi_subagents.jsonl import Frame
from pi_subagents.models.discreet import Discreet
from pi_subagents.models.event import AnyEvent
from pi_subagents.models.finding import Finding
from pi_subagents.models.task import Approvals as Approvals
from pi_subagents.models.task import Profile
from pi_subagents.redaction import secrets_in

if TYPE_CHECKING:
    from pi_subagents.place import Place
    from pi_subagents.settings import Settings


DEPTH_VARIABLE = "PI_SUBAGENTS_DEPTH"
MAX_DEPTH_VARIABLE = "PI_SUBAGENTS_MAX_DEPTH"
"""Up to which depth agents may start others; the extension in a child registers no tools where that is reached."""
_MAX_DEPTH_DIGITS = 9


def depth_in(environ: Mapping[str, str]) -> int:
    """How many sub-agents are above a process with this environment: 0 for a person's own agent."""
    value = environ.get(DEPTH_VARIABLE, "0")
    return int(value[:_MAX_DEPTH_DIGITS]) if value.isdecimal() else 0


def one_deeper(environ: Mapping[str, str], max_depth: int) -> dict[str, str]:
    """The environment for an agent that is started from this one."""
    depth = str(depth_in(environ) + 1)
    return {**environ, "PI_SUBAGENTS_CHILD": "1", DEPTH_VARIABLE: depth, MAX_DEPTH_VARIABLE: str(max_depth)}


Version = tuple[int, int, int]


class Program(msgspec.Struct, frozen=True):
    """A command line to start an agent with, and which of the places that were looked at it came from."""

    argv: tuple[str, ...]
    found_in: str


class Question(Discreet, frozen=True):
    """A short question to a program, such as for its version.

    `keeps_in` names the variables for the directories of its own in which it leaves something whenever it is started.
    """

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    keeps_in: tuple[str, ...] = ()

    _hidden = ("environ",)

    def environ_in(self, folder: str) -> dict[str, str]:
        """The environment in which it leaves something in that folder at most."""
        return {**self.environ, **dict.fromkeys(self.keeps_in, folder)}


class Answer(msgspec.Struct, frozen=True):
    """What a program printed, on whichever stream; `exit_code` is None if it did not start or did not end in time."""

    exit_code: int | None
    text: str

    @property
    def ok(self) -> bool:
        """Whether the program did what it was asked."""
        return self.exit_code == 0


class Ask(Protocol):
    """Runs a program and returns what it says; its failure is an answer too."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        environ: Mapping[str, str],
        timeout_s: float,
        cwd: Path | None = None,
        stdin: bytes = b"",
        until: str | None = None,
    ) -> Answer:
        """With `until` its input stays open until it prints that text; then it has answered, and is ended."""
        ...


class Inspection(msgspec.Struct, frozen=True):
    """Where `doctor` looks, and how it asks programs."""

    place: Place
    settings: Settings
    ask: Ask


InspectionCheck = Callable[[Inspection], Iterable[Finding]]


SYSTEM_PROMPT_FILE = "system-prompt.md"
"""Where in the run directory an agent's instructions are, if its harness writes them to a file."""
AGENT_HOME = "agent-home"
"""The agent's configuration directory, inside the run directory, so that none of the user's is read or written."""


class Conversation(Discreet, frozen=True):
    """A conversation that an earlier run's agent kept: the agent's own id for it, and its files by name."""

    id: str
    files: Mapping[str, bytes]

    _hidden = ("files",)


class Launch(Discreet, frozen=True):
    """One task for one agent. Whatever else the program needs, the harness gets from `place`.

    `environ` is the agent's own. If there is a `conversation`, the agent continues it instead of starting a new one.
    `version` asks the program for its version when it is first called.
    """

    program: Program
    prompt: str
    cwd: Path
    run_dir: Path
    place: Place
    environ: Mapping[str, str]
    profile: Profile | None = None
    conversation: Conversation | None = None
    version: Callable[[], Version | None] = lambda: None

    _hidden = ("environ", "version")

    @property
    def secrets(self) -> frozenset[str]:
        """What the agent is given that must appear in no record."""
        key = self.profile.api_key if self.profile else None
        return frozenset(secrets_in(self.environ) | ({key.reveal()} if key is not None else set()))

    @property
    def skill_folders(self) -> tuple[str, ...]:
        """Where the skills are that the agent is told to read; it need not ask for permission to read there."""
        suggested = (self.profile.suggested_skills if self.profile else None) or ()
        return tuple(dict.fromkeys(str(Path(skill).parent) for skill in suggested))


class RunFile(msgspec.Struct, frozen=True):
    """A file or link that must exist in the run directory before the agent starts."""

    name: str
    content: bytes = b""
    link_to: Path | None = None


class Renewal(Protocol):
    """How a process that no run was named to is made ready for this one, with nothing left of any other.

    Only a process of the same `fingerprint` can be: one that was started with the same program, arguments,
    instructions, environment and directory.
    """

    @property
    def fingerprint(self) -> str: ...

    def surroundings(self) -> Mapping[Path, str] | None:
        """What such a process reads only once, as it is now; None: there, it cannot be kept."""
        ...

    @property
    def instructions(self) -> Mapping[str, bytes]:
        """Files that the process reads when it starts, and again each time, by their names."""
        ...

    @property
    def conversation_file(self) -> Path:
        """Where the run's own conversation is kept."""
        ...

    def command(self, folder: Path, conversation: Path) -> tuple[str, ...]:
        """How such a process is started, with its instructions in `folder` and its first conversation in that file."""
        ...

    @property
    def question(self) -> bytes:
        """What to send to a process that has just been started."""
        ...

    @property
    def request(self) -> bytes:
        """What to send to a process that has nothing to do."""
        ...

    def identity(self, frame: bytes) -> str | None:
        """What the process says it is, if this record tells: which model, and how it thinks."""
        ...

    def heard(self, frame: bytes, conversation: Path) -> bytes | bool:
        """Whether a fresh conversation in that file has begun, False meaning that it will not.

        Until the process has said so: what to send to it next, which may be nothing.
        """
        ...


class Invocation(Discreet, frozen=True):
    """How to start the agent: argv, environment, standard input, and the files it will look for.

    With `interactive`, standard input stays open for later messages. `temporary` names what is deleted after the run;
    `written_by_agent` has patterns for files that the agent writes by itself and that are kept, even inside something
    temporary. `placeholders` are missing in `cwd`: the agent creates empty directories of these names, all at once, and
    leaves them there if it is killed. `approvals` answers its permission requests. `brief` is what the dialogue must
    know, as plain data. `advice` is told if the agent fails. Without `renewal` the task needs a process of its own.
    """

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: Path
    stdin: bytes
    interactive: bool = False
    files: tuple[RunFile, ...] = ()
    temporary: tuple[str, ...] = ()
    written_by_agent: tuple[str, ...] = ()
    placeholders: tuple[str, ...] = ()
    secrets: frozenset[str] = frozenset()
    brief: Mapping[str, Any] = {}
    approvals: Approvals = "deny"
    advice: str = ""
    renewal: Renewal | None = None

    _hidden = ("environ", "stdin", "secrets", "brief", "renewal")


class UnknownTool(msgspec.Struct, frozen=True):
    """A tool that a profile names and nothing brings: in which of its fields, and what may have been meant."""

    field: str
    name: str
    hint: str = ""


class Dialogue(Protocol):
    """The exchange with one agent during one run: turns its output records into events, and knows what to send.

    `Invocation.stdin` has been sent before. It may keep state.
    """

    def decode(self, frame: Frame, at: int) -> list[AnyEvent]:
        """The events one record stands for; never raises, whatever the bytes are."""
        ...

    def take_replies(self) -> bytes:
        """What to send because of the records decoded since the last call."""
        ...

    def ended(self, exit_code: int, at: int) -> list[AnyEvent]:
        """The events for the end of the process, for agents whose records do not say that the task is done."""
        ...

    def steer(self, text: str) -> bytes | None:
        """What to send so that the agent gets `text` before its next turn; None if it takes no messages right now."""
        ...

    def abort(self) -> bytes:
        """What to send so that the agent stops by itself; empty if the protocol has no such request."""
        ...

    def answer(self, request_id: str, *, allowed: bool) -> bytes:
        """What to send to an agent that asked for permission (`ApprovalRequested`)."""
        ...


Report = Literal["diffs", "cost", "context", "progress", "retries", "thinking"]


class Harness(Protocol):
    """One agent program in one of its modes. `table.HARNESSES` has those that can be chosen."""

    @property
    def name(self) -> str: ...

    @property
    def conversation_files(self) -> Sequence[str]:
        """Patterns for the files in the run directory in which the agent keeps its own conversation.

        A conversation always has a file for the first pattern. Without patterns it cannot be continued.
        """
        ...

    @property
    def can_steer(self) -> bool:
        """Whether a running agent can be told something."""
        ...

    @property
    def steerable_as(self) -> str | None:
        """The harness for the same program whose agents can be steered, maybe this one; None if there is none."""
        ...

    @property
    def fallback(self) -> str | None:
        """The harness for the same program where it lacks the mode that this one needs; None: no version does."""
        ...

    @property
    def honours(self) -> frozenset[str]:
        """The fields of a `Profile` that reach the agent; a profile with any other is refused before the start."""
        ...

    @property
    def reports(self) -> frozenset[Report]:
        """What the agent reports besides its text and its tool calls."""
        ...

    @property
    def can_be_kept(self) -> bool:
        """Whether its processes can be kept for the next task (`Invocation.renewal`)."""
        ...

    @property
    def lists_models(self) -> bool:
        """Whether its program lists its models, as `pi` does; if not, model names are passed on unchecked."""
        ...

    # --- may look at files --------------------------------------------------------------------------------

    def find_program(self, place: Place, settings: Settings, profile: Profile | None = None) -> Program:
        """The program that would be started; raises AgentNotFound, which says where it was looked for."""
        ...

    def version_question(self, program: Program, place: Place) -> Question | None:
        """How that program is asked for its version; None where nothing depends on it."""
        ...

    def mode_question(self, program: Program, place: Place) -> Question | None:
        """How that program is asked which modes it has; None where there is no `fallback`."""
        ...

    def checks(self) -> Sequence[InspectionCheck]:
        """What `doctor` asks: is the program there, of which version, and what is missing. They run side by side."""
        ...

    def credentials(self, place: Place) -> str | None:
        """What its program would log in with here, in words; None if neither a key nor a login is found."""
        ...

    def default_provider(self, cwd: Path, agent_dir: Path) -> str | None:
        """Whom an agent there asks that is not told whom to ask, as far as is known."""
        ...

    def unknown_tools(self, profile: Profile, cwd: Path, agent_dir: Path) -> Iterable[UnknownTool]:
        """The tools in a profile's lists that no agent there can have."""
        ...

    def refuses_place(self, profile: Profile | None, place: Place, cwd: Path) -> str | None:
        """Why no agent with this profile may work in a directory, as a sentence; None if it may."""
        ...

    def invocation(self, launch: Launch) -> Invocation:
        """How to start this agent for `launch`."""
        ...

    # --- pure ---------------------------------------------------------------------------------------------

    def has_mode(self, answer: str) -> bool:
        """Whether the answer to `mode_question` names the mode that this harness needs."""
        ...

    def refuses(self, profile: Profile) -> str | None:
        """Which values the agent does not support, as the end of a sentence about the profile: "sets …".

        Only values that restrict, instruct or bound it; fields that it does not support at all are refused because
        `honours` lacks them.
        """
        ...

    def can_continue(self, conversation: Conversation, profile: Profile | None) -> bool:
        """Whether an agent with this profile would find the conversation, and something in it to go on with."""
        ...

    def own_level(self, level: str) -> str:
        """Its own word for a thinking level, or for the nearest one that it has."""
        ...

    def adapt(self, profile: Profile, available_tools: Sequence[str]) -> Profile:
        """The profile as `invocation` takes it; raises ProfileError where it contradicts itself."""
        ...

    def dialogue(self, invocation: Invocation) -> Dialogue:
        """A fresh dialogue for one run."""
        ...
