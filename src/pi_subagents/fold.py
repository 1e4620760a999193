"""A run's state is a fold over its journal: this is the fold, and the only one.

Live windows, `result.json`, the retrieval tools and the index all read a `RunState` made here, so that none of
them can tell a different story from the others. However long a conversation becomes, so much of it is held in memory:
the journal on disk has all of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from pi_subagents.harness.table import DEFAULT_AGENT, agent_of
from pi_subagents.models import event as ev
from pi_subagents.models.gathered import FileChanges, RecentMessages, count_tool
from pi_subagents.models.run import Reason, Status, Usage, is_move, transition
from pi_subagents.text.patterns import pattern
from pi_subagents.text.streamed import StreamedText

_TELLING = pattern(r"\b(error|exception|failed|fatal|cannot|denied|not found|no \w+ \w+ found)\b|error:", re.IGNORECASE)

_BEGINNINGS: dict[str | None, Literal["resumed", "retold"]] = {"native": "resumed", "retell": "retold"}


class RunState(msgspec.Struct):
    """Everything that is known of one run at one point of its journal.

    `settled`: the agent said it has nothing left to do. `pass_ended`: its last pass is over and it announced
    no other; on versions that never say they have settled this is all one can know. `is_damaged`: the journal cannot
    be true as it is: a line is unreadable, or a move from one state to the next is impossible. What is known counts.
    `foreign`: why the record is not ours, so that it can be looked at and nothing else.
    """

    run_id: str = ""
    session_id: str = ""
    name: str = ""
    prompt: str = ""
    cwd: str = ""
    harness: str = ""
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

    status: Status = Status.QUEUED
    reason: Reason | None = None
    error: str | None = None
    created_at: int | None = None
    started_at: int | None = None
    completed_at: int | None = None
    exit_code: int | None = None
    conversation: str | None = None
    """The agent's own id for its conversation."""
    reused: bool = False
    """Whether its process had done another task before."""

    messages: RecentMessages = msgspec.field(default_factory=RecentMessages)
    message_count: int = 0
    final_text: str | None = None
    partial: StreamedText = msgspec.field(default_factory=StreamedText)
    usage: Usage = msgspec.field(default_factory=Usage)
    has_told_all: bool = False
    """The agent has reported all that it used, and has not gone on since."""
    has_cost: bool = True
    """The last total says what it cost."""
    context_used: int | None = None
    context_size: int | None = None
    tool_count: int = 0
    tools_called: dict[str, int] = msgspec.field(default_factory=dict)
    denied: int = 0
    """How many of its permission requests were denied."""
    changes: FileChanges = msgspec.field(default_factory=FileChanges)
    todo_total: int = 0
    todo_completed: int = 0

    foreign: str | None = None
    is_created: bool = False
    is_damaged: bool = False
    details_dropped: bool = False
    settled: bool = False
    pass_ended: bool = False
    accepted: bool = False
    disposition: str | None = None
    """What the agent says became of its prompt; versions before 1.0 do not say."""
    aborted: bool = False
    begun: bool = False
    stop: ev.StopRequested | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    complaint: str | None = None
    last_event_at: int = 0

    @classmethod
    def of_run(cls, run_id: str) -> RunState:
        """A stored run of which nothing has been read: its directory names it, whatever its journal will say."""
        return cls(run_id=run_id, session_id=run_id.rpartition("-")[2])

    @property
    def asked_as(self) -> str | None:
        """The profile or preset by whose name the run was asked for."""
        return self.preset or self.profile

    @property
    def agent(self) -> str:
        """The agent that works, or worked, on the run: `pi`, `claude` …; empty if unknown."""
        return agent_of(self.harness)

    @property
    def other_agent(self) -> str | None:
        """The agent if it is not `pi`, so that people are told; else None."""
        return self.agent if self.agent not in ("", DEFAULT_AGENT) else None

    @property
    def knows_tokens(self) -> bool:
        """Whether it is known how many tokens were used: agents other than `pi` may not report it."""
        return self.usage.total_tokens > 0 or not self._works_unseen

    @property
    def knows_cost(self) -> bool:
        """Whether the cost is known; for agents other than `pi`, only once they have reported all of it."""
        return (self.has_cost and self.has_told_all) or not self._works_unseen

    @property
    def _works_unseen(self) -> bool:
        """Whether it may have used something that no message tells."""
        has_worked = self.begun or self.accepted or self.message_count > 0 or self.usage.total_tokens > 0
        return self.other_agent is not None and has_worked

    @property
    def changed_files(self) -> list[str]:
        """The files that it changed, in the order of their first change."""
        return list(self.changes.paths)

    @property
    def beginning(self) -> Literal["fresh", "resumed", "retold"]:
        """What the agent knew of the session when it began: nothing, its own conversation, or what we told it."""
        return _BEGINNINGS.get(self.resume_mode, "fresh")

    @property
    def partial_text(self) -> str:
        """What has arrived so far of the message that is being written."""
        return str(self.partial)

    @property
    def text(self) -> str:
        """What the agent said last; of a message that it is writing, or was when it was stopped, the text so far."""
        return self.partial_text or self.final_text or ""


def fold(state: RunState, events: Iterable[ev.Event]) -> RunState:
    """Apply recorded `events` to `state`, in order, in place; never raises, whatever they are.

    Where the order of starts and ends is impossible the state is damaged, and the first of them decides.
    """
    for event in events:
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(state, event)
        state.last_event_at = event.at or state.last_event_at
    return state


def advance(state: RunState, events: Iterable[ev.Event]) -> RunState:
    """Apply `events` that we write ourselves: raises ValueError for an illegal move, which is a mistake of ours."""
    for event in events:
        if isinstance(event, ev.Started | ev.Ended) and not state.is_damaged:
            transition(state.status, event.status if isinstance(event, ev.Ended) else Status.RUNNING)
        fold(state, [event])
    return state


_CREATED_FACTS = [field for field in ev.Created.__struct_fields__ if field not in ("at", "run_id", "session_id")]


def _created(state: RunState, event: ev.Created) -> None:
    names = (state.run_id or event.run_id, state.session_id or event.session_id)
    if state.is_created or names != (event.run_id, event.session_id):
        state.is_damaged = True
    if state.is_created:
        return
    state.is_created = True
    state.run_id, state.session_id = names
    for name in _CREATED_FACTS:
        setattr(state, name, getattr(event, name))
    state.created_at = event.at or None


def _started(state: RunState, event: ev.Started) -> None:
    if not is_move(state.status, Status.RUNNING):
        state.is_damaged = True
        return
    state.status = Status.RUNNING
    state.started_at = _time(state, event)
    state.reused = event.reused


def _replaced(state: RunState, _event: ev.Replaced) -> None:
    state.reused = False


def _unknown(state: RunState, event: ev.Unknown) -> None:
    state.is_damaged = state.is_damaged or event.is_damage


def _stop_requested(state: RunState, event: ev.StopRequested) -> None:
    # The first cause decides; an agent that had already settled is no longer being cut short.
    if state.stop is None and not state.settled:
        state.stop = event


def _detached(state: RunState, event: ev.Detached) -> None:
    state.background, state.owner = True, event.owner


def _details_dropped(state: RunState, _event: ev.DetailsDropped) -> None:
    state.details_dropped = True


def _exited(state: RunState, event: ev.Exited) -> None:
    state.exit_code = event.exit_code


def _ended(state: RunState, event: ev.Ended) -> None:
    if not is_move(state.status, event.status) or not event.status.is_terminal:
        state.is_damaged = True
    if state.status.is_terminal:
        return
    state.status = event.status if event.status.is_terminal else Status.FAILED
    state.reason = event.reason
    state.error = event.message
    # Nobody saw a lost run end: its last sign of life is nearer to the truth than the moment it was found.
    lost = event.reason is Reason.LOST
    state.completed_at = (state.last_event_at or None) if lost else _time(state, event)


def _time(state: RunState, event: ev.Event) -> int | None:
    """When an event happened; where it does not say, the time of the one before it comes nearest."""
    return event.at or state.last_event_at or None


def _delta(state: RunState, event: ev.Delta) -> None:
    if event.kind == "text":
        state.partial.add(event.text)


def _message_started(state: RunState, event: ev.MessageStarted) -> None:
    if event.role == "assistant":
        state.partial = StreamedText()


def _message(state: RunState, event: ev.Message) -> None:
    state.message_count += 1
    state.messages.append(event)
    if event.role == "assistant":
        _assistant_message(state, event)
    elif event.usage is not None:
        _add_usage(state, event.usage)


def _assistant_message(state: RunState, event: ev.Message) -> None:
    # A message that broke off may lack the text that was already streamed.
    text = event.text if event.parts or event.stop_reason != "aborted" else state.partial_text
    state.partial = StreamedText()
    if text.strip():
        state.final_text = text
    state.provider = event.provider or state.provider
    state.model = event.model or state.model
    state.stop_reason = event.stop_reason or state.stop_reason
    state.error_message = event.error_message
    if event.usage is not None:
        _add_usage(state, event.usage)
    for call in event.tool_calls:
        state.tool_count += 1
        count_tool(state.tools_called, call.name)
        _count_todos(state, call)


def _add_usage(state: RunState, usage: Usage) -> None:
    state.usage, state.has_told_all = state.usage + usage, usage.cost > 0


def _usage_total(state: RunState, event: ev.UsageTotal) -> None:
    state.usage, state.has_told_all, state.has_cost = event.usage, True, event.has_cost
    state.context_used = event.context_used if event.context_used is not None else state.context_used
    state.context_size = event.context_size if event.context_size is not None else state.context_size


def _approval_answered(state: RunState, event: ev.ApprovalAnswered) -> None:
    state.denied += not event.allowed


def _agent_session(state: RunState, event: ev.AgentSession) -> None:
    state.conversation = event.id or state.conversation


def _count_todos(state: RunState, call: ev.ToolCallPart) -> None:
    if call.name == "write_todos":
        written = _length(call.arguments.get("todos"))
        if call.arguments.get("mode") == "append":
            state.todo_total += written
        else:
            state.todo_total, state.todo_completed = written, 0
    elif call.name == "edit_todos" and call.arguments.get("action") in ("complete", "abandon"):
        state.todo_completed = min(state.todo_total, state.todo_completed + _length(call.arguments.get("indices")))


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def _agent_ended(state: RunState, event: ev.AgentEnded) -> None:
    state.pass_ended = not event.will_retry
    if event.will_retry is None:
        state.settled = True


def _settled(state: RunState, event: ev.AgentSettled) -> None:
    state.settled = state.pass_ended = True
    state.aborted = bool(event.aborted)


def _working_again(state: RunState, _event: ev.Event) -> None:
    # A retry, a compaction, a queued message or an extension can make the agent go on after a pass had ended.
    state.settled = state.pass_ended = state.aborted = state.has_told_all = False
    state.begun = True


def _accepted(state: RunState, event: ev.PromptAccepted) -> None:
    state.accepted = True
    state.disposition = event.disposition


def _command_refused(state: RunState, event: ev.CommandRefused) -> None:
    if event.command == "prompt":
        state.stop_reason, state.error_message = "error", event.message or "The agent refused the prompt"
        state.settled = state.pass_ended = True


def _compaction_ended(state: RunState, event: ev.CompactionEnded) -> None:
    state.pass_ended = not event.will_retry


def _stderr(state: RunState, event: ev.Stderr) -> None:
    # Of everything an agent complains about, the line that names an error says most, and without one the first.
    if state.complaint is None or not _TELLING.search(state.complaint):
        lines = [line.strip() for line in event.text.splitlines() if line.strip()]
        telling = (line for line in lines if _TELLING.search(line))
        state.complaint = next(telling, None) or state.complaint or next(iter(lines), None)


def _thinking_level(state: RunState, event: ev.ThinkingLevelChanged) -> None:
    state.thinking_level = event.level or None
    if event.note:
        state.note = f"{state.note} {event.note}" if state.note else event.note


_HANDLERS: dict[type[ev.Event], Callable[[RunState, Any], None]] = {
    ev.Created: _created,
    ev.Started: _started,
    ev.Replaced: _replaced,
    ev.Detached: _detached,
    ev.StopRequested: _stop_requested,
    ev.DetailsDropped: _details_dropped,
    ev.Exited: _exited,
    ev.Ended: _ended,
    ev.Delta: _delta,
    ev.MessageStarted: _message_started,
    ev.Message: _message,
    ev.ToolStarted: lambda state, event: state.changes.call_began(event),
    ev.ToolEnded: lambda state, event: state.changes.call_ended(event, state.cwd),
    ev.FileChanged: lambda state, event: state.changes.add(event, state.cwd),
    ev.ApprovalAnswered: _approval_answered,
    ev.UsageTotal: _usage_total,
    ev.AgentSession: _agent_session,
    ev.AgentSettled: _settled,
    ev.PromptAccepted: _accepted,
    ev.CommandRefused: _command_refused,
    ev.AgentEnded: _agent_ended,
    ev.AgentStarted: _working_again,
    ev.TurnStarted: _working_again,
    ev.RetryStarted: _working_again,
    ev.CompactionStarted: _working_again,
    ev.CompactionEnded: _compaction_ended,
    ev.Stderr: _stderr,
    ev.ThinkingLevelChanged: _thinking_level,
    ev.Unknown: _unknown,
}
