"""What is said of a session and of each run before its conversation: names, figures and times, for every writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pi_subagents.clock import LAST_MS
from pi_subagents.export.entries import Entry
from pi_subagents.fold import RunState
from pi_subagents.models import Status, Usage
from pi_subagents.models.run import Reason
from pi_subagents.progress import status_icon
from pi_subagents.text import counted, duration, money, printable

Fact = tuple[str, str]
"""A name and a value, both printable."""


@dataclass(frozen=True)
class RunPage:
    """A run as it is written down: its state, and the entries of its conversation, which may be read more than once."""

    state: RunState
    entries: Iterable[Entry]


def title(runs: Sequence[RunPage]) -> str:
    """The name of the session's latest task."""
    return one_line(runs[-1].state.name) or "(unnamed)"


def status_words(state: RunState) -> str:
    """`✓ completed`, `✗ failed (timeout)`, `✓ completed, damaged`."""
    reason = f" ({state.reason})" if state.reason and state.status is not Status.COMPLETED else ""
    damaged = ", damaged" if state.is_damaged else ""
    return f"{status_icon(state.status)} {state.status}{reason}{damaged}"


def error_words(error: str, reason: str | None, took_s: float) -> str:
    """The sentence, and of a run whose time was up, how long it really took: at work it may go on for longer."""
    took = f" (ran for {duration(took_s)})" if reason == Reason.TIMEOUT else ""
    return f"{printable(error)}{took}"


def session_facts(runs: Sequence[RunPage]) -> Iterator[Fact]:
    """What holds for the session as a whole; sums are over all its runs."""
    states = [run.state for run in runs]
    latest = states[-1]
    usage = sum((state.usage for state in states), Usage())
    yield "Status", status_words(latest)
    yield "Session", latest.session_id
    yield from _agent_facts(latest)
    yield "Directory", one_line(latest.cwd)
    if when := moment(states[0].created_at):
        yield "Started", when
    yield "Runs", str(len(states))
    yield "Time", duration(sum(map(seconds, states)))
    yield "Tool calls", f"{sum(state.tool_count for state in states):,}"
    yield "Tokens", _tokens(usage)
    yield "Cost", money(usage.cost)


def origin(state: RunState) -> str:
    """`reviewer · anthropic/sonnet · 2026-11-01 14:03:22 UTC · run 2026…`: where a run of several comes from."""
    facts = [value for _name, value in _agent_facts(state)]
    return " · ".join(filter(None, [*facts, moment(state.created_at), f"run {state.run_id}"]))


def figures(state: RunState) -> str:
    """`12.3s, 4 tool calls, 3,080 tokens, $0.0021`."""
    calls = counted(state.tool_count, "tool call")
    return f"{duration(seconds(state))}, {calls}, {state.usage.total_tokens:,} tokens, {money(state.usage.cost)}"


def seconds(state: RunState) -> float:
    """How long the agent was at work, as far as it is recorded."""
    if state.started_at is None:
        return 0.0
    return max((state.completed_at or state.last_event_at) - state.started_at, 0) / 1000


def moment(milliseconds: int | None) -> str:
    """`2026-11-01 14:03:22 UTC`: a page is read in other time zones than its own; nothing where it is unknown."""
    if milliseconds is None or not 0 <= milliseconds <= LAST_MS:
        return ""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def one_line(text: str) -> str:
    """Printable, and on one line."""
    return " ".join(printable(text).split())


def _agent_facts(state: RunState) -> Iterator[Fact]:
    if state.profile:
        yield "Profile", one_line(state.profile)
    model = "/".join(one_line(part) for part in (state.provider, state.model) if part)
    thinking = f", thinking {one_line(state.thinking_level)}" if state.thinking_level else ""
    if model:
        yield "Model", model + thinking


def _tokens(usage: Usage) -> str:
    cached = f", {usage.cache_read:,} from cache" if usage.cache_read else ""
    return f"{usage.total_tokens:,} ({usage.input:,} in, {usage.output:,} out{cached})"
