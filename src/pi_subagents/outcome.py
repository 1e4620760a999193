"""Decides, once and from recorded facts alone, how a run ended."""

from __future__ import annotations

from pi_subagents.fold import RunState
from pi_subagents.harness import DEFAULT_AGENT, agent_of
from pi_subagents.harness.pi.programs import with_login
from pi_subagents.models import event as ev
from pi_subagents.models.run import Reason, status_for

LOST_SENTENCE = "Session was interrupted (main agent session ended unexpectedly)"
CANCELLED_SENTENCE = "Cancelled"
SPAWN_SENTENCE = "Failed to spawn sub-agent process"
HANDLED_SENTENCE = "An extension took the prompt for one of its commands, so no agent worked on it"
CUT_SENTENCE = "The answer was cut off at the model's output limit; what arrived is kept"
NOT_STARTED_SENTENCE = "The agent accepted the prompt but did not start: it may have taken it for one of its commands"
LOOP_SENTENCE = "Loop detected: sub-agent is repeating the same tool calls"

SILENT_SENTENCE = "The agent finished without saying or doing anything"

_CUT = "length"
"""From 1.0 on `pi -p` exits with code 1 then; before, and in RPC mode, it counts as an answer."""
_BAD_STOP_REASONS = frozenset({"error", "aborted", "deferred"})
_MAX_SENTENCE = 4000
"""It is shown in every listing and window; the whole of what a provider said is in its message."""
_NOT_STARTED = frozenset({126, 127})
"""What a shell exits with that could not run a program; the wrapper around an agent is one."""


def timeout_sentence(timeout_s: float) -> str:
    """The documented sentence, with the configured timeout."""
    return f"Timed out after {timeout_s:g}s. Consider resuming with a longer timeout."


def full_sentence(journal_bytes: int) -> str:
    """Why a run was stopped whose journal has grown to twice its bound."""
    megabytes = f"{journal_bytes // 1_000_000:,} MB"
    return f"Stopped: its journal has grown to twice the {megabytes} that subagents.maxJournalMb allows"


def ending(reason: Reason, message: str | None, at: int) -> ev.Ended:
    """The final event for a reason."""
    if message is not None and len(message) > _MAX_SENTENCE:
        message = f"{message[:_MAX_SENTENCE]}… ({len(message):,} characters)"
    return ev.Ended(at=at, status=status_for(reason), reason=reason, message=message)


def conclude(state: RunState, at: int, *, stopped_after_settling: bool = False, advice: str = "") -> ev.Ended:
    """The final event of a run whose process is gone.

    Whatever was recorded first decides: a run that was asked to stop before it settled is never completed,
    and one that had settled is not spoilt by the signal that ended its idle process. If the agent failed, its message
    ends with the `advice`.
    """
    if state.stop is not None:
        return ending(state.stop.reason, state.stop.message, at)
    finished = state.settled or state.pass_ended
    if finished and state.stop_reason == ev.LIMIT:
        return ending(Reason.LIMIT, state.error_message or "The agent reached a limit set in its profile", at)
    if finished and (state.aborted or state.stop_reason in _BAD_STOP_REASONS):
        stop_reason = "aborted" if state.aborted else state.stop_reason
        sentence = state.error_message or f"The agent stopped with reason '{stop_reason}'"
        return ending(Reason.AGENT_ERROR, _advised(sentence, state, advice), at)
    if finished and state.stop_reason == _CUT and state.exit_code and not stopped_after_settling:
        return ending(Reason.AGENT_ERROR, CUT_SENTENCE, at)
    if finished and (state.exit_code == 0 or stopped_after_settling):
        if not state.text and not state.tool_count:
            return ending(Reason.AGENT_ERROR, SILENT_SENTENCE, at)
        return ending(Reason.SETTLED if state.text else Reason.NO_ANSWER, None, at)
    if state.exit_code in _NOT_STARTED and state.message_count == 0 and not finished:
        return ending(Reason.SPAWN, SPAWN_SENTENCE, at)
    return ending(Reason.EXIT, _advised(_exit_sentence(state), state, advice), at)


def _advised(sentence: str, state: RunState, advice: str) -> str:
    sentence = with_login(sentence) if agent_of(state.harness) == DEFAULT_AGENT else sentence
    return f"{sentence} ({advice})" if advice else sentence


def _exit_sentence(state: RunState) -> str:
    before = "" if state.settled or state.pass_ended else " before it finished"
    detail = f": {state.error_message or state.complaint}" if (state.error_message or state.complaint) else ""
    return f"Sub-agent exited with code {state.exit_code}{before}{detail}"
