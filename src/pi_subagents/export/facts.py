"""What every writer says of a session, of a run and of a tool call: names, figures, times, and arguments in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import msgspec

from pi_subagents.clock import LAST_MS
from pi_subagents.encoding import size_of
from pi_subagents.export.entries import Called, Entry, Returned
from pi_subagents.fold import RunState
from pi_subagents.models import Status, Usage
from pi_subagents.models.run import Reason
from pi_subagents.progress import standing, status_icon, summarise_tool_result
from pi_subagents.text import (
    clean,
    cost_words,
    counted,
    duration,
    money,
    one_line,
    printable,
    shorten_path,
    token_count,
    token_words,
)
from pi_subagents.text.harmless import escape_json

Fact = tuple[str, str]
"""A name and a value, both printable."""
_WORTH_TELLING_MS = 100
_LONG = 80
_MAX_DEPTH = 8
"""What is nested deeper stays JSON."""
_ALWAYS_APART = frozenset({"command", "content", "newText", "oldText"})
"""Programs and pieces of files are shown as such, however short."""
_MAX_FLATTENED_BYTES = 1024 * 1024
"""Of larger arguments only the outermost are told apart."""
_MAX_NAME_CHARACTERS = 200
_MAX_PATHS = 50
Leaf = tuple[str, object]
"""Where a value stands among the arguments, and the value."""
_JSON = msgspec.json.Encoder()


@dataclass(frozen=True)
class RunPage:
    """A run as it is written down: its state, and the entries of its conversation, which may be read more than once."""

    state: RunState
    entries: Iterable[Entry]


def title(runs: Sequence[RunPage]) -> str:
    """The name of the session's latest task."""
    return one_line(runs[-1].state.name) or "(unnamed)"


def status_words(state: RunState) -> str:
    """`✓ completed`, `✓ completed without an answer`, `✗ failed (timeout)`, `✓ completed, damaged`."""
    if state.status is Status.COMPLETED or not state.reason:
        return f"{status_icon(state.status)} {standing(state)}"
    return f"{status_icon(state.status)} {state.status} ({state.reason}){', damaged' if state.is_damaged else ''}"


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
    yield "Tokens", _tokens(usage, is_all=all(state.knows_tokens for state in states))
    if context := _context(latest):
        yield "Context", context
    yield "Cost", money(usage.cost, is_all=all(state.knows_cost for state in states))
    changed = dict.fromkeys(path for state in states for path in state.changed_files)
    if changed:
        yield "Files changed", _paths(list(changed), latest.cwd)


def origin(state: RunState) -> str:
    """`reviewer · anthropic/sonnet · 2026-11-01 14:03:22 UTC · run 2026…`: where a run of several comes from."""
    facts = [value for _name, value in _agent_facts(state)]
    facts += [] if state.beginning == "fresh" else [state.beginning]
    return " · ".join(filter(None, [*facts, moment(state.created_at), f"run {state.run_id}"]))


def figures(state: RunState) -> str:
    """`12.3s, 4 tool calls, 3,080 tokens, $0.0021`."""
    return f"{duration(seconds(state))}, {usage_words(state)}"


def usage_words(state: RunState) -> str:
    """`4 tool calls, 3,080 tokens, $0.0021`."""
    tokens = token_words(state.usage.total_tokens, is_all=state.knows_tokens)
    cost = cost_words(state.usage.cost, is_all=state.knows_cost)
    return f"{counted(state.tool_count, 'tool call')}, {tokens}, {cost}"


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


def _context(state: RunState) -> str:
    if not state.context_used:
        return ""
    size = f" of {state.context_size:,}" if state.context_size else ""
    return f"{state.context_used:,}{size} tokens"


def _paths(paths: Sequence[str], cwd: str) -> str:
    shown = ", ".join(one_line(shorten_path(path, cwd=cwd)) for path in paths[:_MAX_PATHS])
    return f"{shown} and {len(paths) - _MAX_PATHS} more" if len(paths) > _MAX_PATHS else shown


def _agent_facts(state: RunState) -> Iterator[Fact]:
    if state.other_agent:
        yield "Agent", one_line(state.other_agent)
    if state.profile:
        yield "Profile", one_line(state.profile)
    model = "/".join(one_line(part) for part in (state.provider, state.model) if part)
    thinking = f", thinking {one_line(state.thinking_level)}" if state.thinking_level else ""
    if model:
        yield "Model", model + thinking


def _tokens(usage: Usage, *, is_all: bool) -> str:
    if not is_all:
        return token_count(usage.total_tokens, is_all=False)
    cached = f", {usage.cache_read:,} from cache" if usage.cache_read else ""
    return f"{usage.total_tokens:,} ({usage.input:,} in, {usage.output:,} out{cached})"


@dataclass(frozen=True, slots=True)
class Block:
    """A text with the name of the argument it is; without a name, several short arguments as `name: JSON`."""

    label: str
    text: str


def argument_blocks(arguments: Mapping[str, Any]) -> list[Block]:
    """Everything a tool was called with, in order: long texts in blocks of their own, none hidden in JSON escapes."""
    is_huge = size_of(arguments) > _MAX_FLATTENED_BYTES
    leaves = _items(arguments, "") if is_huge else _flatten(arguments)
    blocks: list[Block] = []
    for is_apart, group in groupby(leaves, _stands_apart):
        if is_apart:
            blocks += [Block(clean(label), printable(str(value))) for label, value in group]
        else:
            blocks.append(Block("", "\n".join(map(_line, group))))
    return blocks


def _stands_apart(leaf: Leaf) -> bool:
    label, value = leaf
    if not isinstance(value, str):
        return False
    return "\n" in value or len(value) > _LONG or label.rpartition(".")[2] in _ALWAYS_APART


def _line(leaf: Leaf) -> str:
    label, value = leaf
    return f"{clean(label)}: {escape_json(_JSON.encode(value).decode())}"


def _flatten(value: object, path: str = "", depth: int = 0) -> Iterator[Leaf]:
    items = list(_items(value, path)) if depth < _MAX_DEPTH else []
    if not items and path:
        yield path, value
    for name, item in items:
        yield from _flatten(item, name, depth + 1)


def _items(value: object, path: str) -> Iterator[Leaf]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            name = str(key)
            if len(name) > _MAX_NAME_CHARACTERS:  # it is repeated before everything that stands below it
                name = f"{name[:_MAX_NAME_CHARACTERS]}…"
            yield f"{path}.{name}" if path else name, item
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, item in enumerate(value):
            yield f"{path}[{index}]", item


def call_remarks(call: Called | None, result: Returned | None) -> Iterator[str]:
    """`failed`, `3 files, 1 dir`, `12 lines`, `4.2s`, as far as there is something to say."""
    if result is None:
        yield "no result"
        return
    if result.is_error:
        yield "failed"
    elif summary := summarise_tool_result(result.name, result.text):
        yield summary
    elif result.text.strip():
        yield counted(result.text.strip("\n").count("\n") + 1, "line")
    if call and result.at - call.at >= _WORTH_TELLING_MS:
        yield duration((result.at - call.at) / 1000)
