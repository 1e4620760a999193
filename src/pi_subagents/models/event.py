"""What can happen in a run, normalised over agent programs and their versions.

These structs are the vocabulary of the journal on disk and of what surfaces are told: each is one JSON object with a
`type` tag and `at`. It is append-only: fields may be added with defaults, never renamed, or old journals would no
longer read. Words of closed sets are plain text here or keep what they do not know, as journals of newer versions have.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pi_subagents.models.event_base import Event as Event
from pi_subagents.models.event_base import Time
from pi_subagents.models.parts import LIMIT as LIMIT
from pi_subagents.models.parts import ImagePart as ImagePart
from pi_subagents.models.parts import NestedCall as NestedCall
from pi_subagents.models.parts import OtherPart as OtherPart
from pi_subagents.models.parts import Part as Part
from pi_subagents.models.parts import TextPart as TextPart
from pi_subagents.models.parts import ThinkingPart as ThinkingPart
from pi_subagents.models.parts import ToolCallPart as ToolCallPart
from pi_subagents.models.run import Reason, Status, Usage

# --- the run itself, written by us -------------------------------------------------------------------------


class Created(Event, frozen=True, tag="created"):
    """The run exists; nothing has been started or told to an agent.

    `prompt` is what the task asks; what the agent is told, with files and earlier runs, is in the run's `prompt.md`.
    """

    run_id: str
    session_id: str
    name: str
    prompt: str
    cwd: str
    harness: str
    profile: str | None = None
    provider: str | None = None
    model: str | None = None
    thinking_level: str | None = None
    timeout_s: float | None = None
    file_count: int = 0
    resume_mode: str | None = None
    note: str | None = None
    preset: str | None = None
    requested_model: str | None = None
    requested_thinking: str | None = None
    resolved_model: str | None = None
    background: bool = False
    owner: str | None = None


class Started(Event, frozen=True, tag="started"):
    """The agent process exists; `reused` says that it has done another task before this one."""

    pid: int
    containment: str
    reused: bool = False


class Replaced(Event, frozen=True, tag="replaced"):
    """The process did not begin a fresh conversation; another one has the task, of which the first was told nothing."""

    pid: int
    containment: str


class HeldBack(Event, frozen=True, tag="held_back"):
    """The provider asked somebody to slow down, so this run does not start before `until` (ms)."""

    provider: str
    until: Time


class Detached(Event, frozen=True, tag="detached"):
    """Whoever watched the run has left it to itself: from here on it is a background run of `owner`."""

    owner: str


class StopRequested(Event, frozen=True, tag="stop_requested"):
    """Somebody or something decided to end the run; the first such record decides its outcome."""

    reason: Reason
    message: str


class DetailsDropped(Event, frozen=True, tag="details_dropped"):
    """The journal has reached its bound (bytes): from here on it leaves out details, and cuts long messages."""

    bound: int


class Exited(Event, frozen=True, tag="exited"):
    """The agent process and everything below it is gone; a signal counts as 128 + its number."""

    exit_code: int


class Ended(Event, frozen=True, tag="ended"):
    """The run's final state."""

    status: Status
    reason: Reason
    message: str | None = None


# --- what the agent said on its event stream ----------------------------------------------------------------


class AgentSession(Event, frozen=True, tag="agent_session"):
    """The agent's own name for its conversation."""

    id: str
    version: int | None = None


class AgentStarted(Event, frozen=True, tag="agent_started"):
    pass


class AgentInstructed(Event, frozen=True, tag="agent_instructed"):
    """The system prompt the agent works under: its length and the tools that the model is offered."""

    characters: int = 0
    tools: tuple[str, ...] = ()


class AgentEnded(Event, frozen=True, tag="agent_ended"):
    """One pass of the agent ended; `will_retry` says whether another follows by itself.

    It is None where the agent does not say: those versions do not announce that they have settled either.
    """

    will_retry: bool | None = None


class AgentSettled(Event, frozen=True, tag="agent_settled"):
    """The agent has nothing left to do; `aborted` says that it was kept from it, where the agent tells."""

    aborted: bool | None = None


class TurnStarted(Event, frozen=True, tag="turn_started"):
    pass


class TurnEnded(Event, frozen=True, tag="turn_ended"):
    tool_results: int = 0


class MessageStarted(Event, frozen=True, tag="message_started"):
    role: str


class Delta(Event, frozen=True, tag="delta"):
    """A piece of a message that is still being written."""

    kind: str  # text, thinking or toolCall
    text: str


class Message(Event, frozen=True, tag="message"):
    """A complete message of the conversation; it replaces what its deltas had built up."""

    role: str
    parts: tuple[Part, ...] = ()
    provider: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    usage: Usage | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool = False
    truncated: bool = False
    nested_calls: tuple[NestedCall, ...] = ()

    @property
    def text(self) -> str:
        """All text parts, joined by line breaks."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def tool_calls(self) -> list[ToolCallPart]:
        """The calls this message makes; one that broke off makes none, even if half of a call had arrived."""
        if self.stop_reason in ("error", "aborted"):
            return []
        return [part for part in self.parts if isinstance(part, ToolCallPart)]


class ToolStarted(Event, frozen=True, tag="tool_started"):
    id: str
    name: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class ToolProgress(Event, frozen=True, tag="tool_progress"):
    """A sign of life from a running tool: the last line it printed."""

    id: str
    name: str
    line: str = ""


class ToolEnded(Event, frozen=True, tag="tool_ended"):
    """A tool finished; what it returned follows as a message. `duration_ms` is what the agent measured."""

    id: str
    name: str
    is_error: bool = False
    duration_ms: int | None = None


class FileChanged(Event, frozen=True, tag="file_changed"):
    """The agent changed a file; with the diff and the tool call, if it reports them."""

    path: str
    diff: str = ""
    tool_call_id: str | None = None


class UsageTotal(Event, frozen=True, tag="usage_total"):
    """The usage of the run so far; replaces the sum over its messages.

    `context_used` and `context_size` are tokens. Without `has_cost` the cost is unknown.
    """

    usage: Usage
    context_used: int | None = None
    context_size: int | None = None
    has_cost: bool = True


class ApprovalRequested(Event, frozen=True, tag="approval_requested"):
    """The agent asks for permission, and waits; `what` says in one line for what."""

    id: str
    what: str = ""
    tool_name: str | None = None
    tool_call_id: str | None = None


class ApprovalAnswered(Event, frozen=True, tag="approval_answered"):
    """The answer to a permission request; `by` is who gave it: `profile` if no person was asked."""

    id: str
    allowed: bool = False
    by: str = "profile"


class RetryStarted(Event, frozen=True, tag="retry_started"):
    attempt: int = 0
    max_attempts: int = 0
    delay_ms: Time = 0
    message: str = ""
    what: str = "turn"  # or summary


class RetryEnded(Event, frozen=True, tag="retry_ended"):
    success: bool = True
    attempt: int = 0
    message: str | None = None
    what: str = "turn"  # or summary


class CompactionStarted(Event, frozen=True, tag="compaction_started"):
    reason: str = ""


class CompactionEnded(Event, frozen=True, tag="compaction_ended"):
    reason: str = ""
    aborted: bool = False
    will_retry: bool = False
    tokens_before: int | None = None
    message: str | None = None


class QueueChanged(Event, frozen=True, tag="queue_changed"):
    steering: tuple[str, ...] = ()
    follow_up: tuple[str, ...] = ()


class ThinkingLevelChanged(Event, frozen=True, tag="thinking_level_changed"):
    level: str
    note: str | None = None


class SessionRenamed(Event, frozen=True, tag="session_renamed"):
    name: str | None = None


class EntryAppended(Event, frozen=True, tag="entry_appended"):
    """An extension of the agent stored something of its own in the agent's session."""

    entry: msgspec.Raw


class ExtensionFailed(Event, frozen=True, tag="extension_failed"):
    path: str = ""
    during: str = ""
    message: str = ""


class PromptAccepted(Event, frozen=True, tag="prompt_accepted"):
    """The agent has taken the prompt; it has not begun to work on it.

    Its `disposition`, where it tells, is `started`, `queued`, or `handled` by an extension: then no work will begin.
    """

    disposition: str | None = None


class CommandRefused(Event, frozen=True, tag="command_refused"):
    """The agent would not do what it was told (`prompt`, `steer`, `abort` …)."""

    command: str
    message: str = ""


class SteerRequested(Event, frozen=True, tag="steer_requested"):
    """Somebody has something to say to the running agent; it counts as delivered when it appears as a message."""

    text: str


class DialogDismissed(Event, frozen=True, tag="dialog_dismissed"):
    """An extension asked a person something; nobody was there, so it got the answer of somebody who closes it."""

    method: str
    title: str = ""


class ExtensionSpoke(Event, frozen=True, tag="extension_spoke"):
    """An extension showed something to a person."""

    method: str
    text: str = ""


class ShellOutput(Event, frozen=True, tag="shell_output"):
    """Output of a command that was run for a person rather than for the model."""

    text: str = ""


# --- what came out of the process but is not a known event ---------------------------------------------------


class Output(Event, frozen=True, tag="output"):
    """Text on stdout that is no event."""

    text: str


class Stderr(Event, frozen=True, tag="stderr"):
    text: str


class Dropped(Event, frozen=True, tag="dropped"):
    """A record that was too large to keep."""

    size: int
    head: str


class Repaired(Event, frozen=True, tag="repaired"):
    """The next event comes from a record that was not valid text; the bad places now hold a replacement."""

    size: int


class Unknown(Event, frozen=True, tag="unknown"):
    """A well-formed record of a kind this version does not know, as it came."""

    kind: str
    record: msgspec.Raw
    ours: bool = False  # another version of ourselves has written it into the journal, and not the agent

    @property
    def is_damage(self) -> bool:
        """Whether it stands for a line of the journal that cannot be read."""
        return self.ours and self.kind == "damaged"


_HeldEvent = Created | HeldBack | Started | Replaced | Detached | SteerRequested
OurEvent = _HeldEvent | StopRequested | DetailsDropped | Exited | Ended
_AgentEvent = AgentSession | AgentStarted | AgentInstructed | AgentEnded | AgentSettled | TurnStarted | TurnEnded
_MessageEvent = MessageStarted | Delta | Message | ToolStarted | ToolProgress | ToolEnded | ShellOutput
_WorkEvent = FileChanged | UsageTotal | ApprovalRequested | ApprovalAnswered
_SessionEvent = RetryStarted | RetryEnded | CompactionStarted | CompactionEnded | QueueChanged | ThinkingLevelChanged
_ExtensionEvent = SessionRenamed | EntryAppended | ExtensionFailed | DialogDismissed | ExtensionSpoke
_ProcessEvent = PromptAccepted | CommandRefused | Output | Stderr | Dropped | Repaired | Unknown

AnyEvent = OurEvent | _AgentEvent | _MessageEvent | _WorkEvent | _SessionEvent | _ExtensionEvent | _ProcessEvent
"""Every event there is; what a journal is decoded into."""
