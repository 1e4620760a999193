"""A session as Markdown: complete, readable as plain text, and rendered well wherever Markdown is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pi_subagents.export.arguments import argument_blocks
from pi_subagents.export.containment import code_span, contained, fenced, inline, quoted
from pi_subagents.export.entries import Added, Called, Entry, Given, Noticed, Returned, Said, Thought
from pi_subagents.export.facts import RunPage, figures, session_facts, status_words, title
from pi_subagents.fold import RunState
from pi_subagents.progress import ARROW
from pi_subagents.text import printable

_EMPTY = "*(empty)*"
_LANGUAGES = {"command": "sh"}


def session_markdown(runs: Sequence[RunPage]) -> Iterator[str]:
    """The whole session, a block at a time; a blank line belongs between blocks."""
    yield from session_heading(runs)
    for number, run in enumerate(runs, 1):
        yield from run_heading(run.state, number, len(runs))
        for entry in run.entries:
            yield entry_markdown(entry)
        yield run_ending(run.state)


def session_heading(runs: Sequence[RunPage]) -> Iterator[str]:
    """The title and what is known of the session as a whole."""
    yield f"# {inline(title(runs))}"
    yield "\n".join(f"- {name}: {inline(value)}" for name, value in session_facts(runs))


def run_heading(state: RunState, number: int, count: int) -> Iterator[str]:
    """A run's number, unless it is the only one, and its task."""
    yield f"## Run {number} of {count}" if count > 1 else "## Task"
    yield quoted(printable(state.prompt).strip())


def run_ending(state: RunState) -> str:
    """How the run ended, or that it has not."""
    return f"---\n\n{inline(status_words(state))} · {inline(figures(state))}"


def entry_markdown(entry: Entry) -> str:
    """One entry as one block."""
    return _WRITERS[type(entry)](entry)


def _said(entry: Said) -> str:
    text = contained(entry.text.strip())
    return f"{text}\n\n*(unfinished)*" if entry.unfinished else text


def _thought(entry: Thought) -> str:
    return quoted(f"*Thinking:* {entry.text.strip()}")


def _given(entry: Given) -> str:
    return f"The agent got files or earlier runs with the task:\n\n{fenced(entry.text)}"


def _added(entry: Added) -> str:
    return f"**{inline(entry.role)}:**\n\n{quoted(entry.text.strip())}"


def _called(entry: Called) -> str:
    first, *more = entry.preview.split("\n")
    lines = [f"→ {code_span(first)}", *map(code_span, more)]
    blocks = ["  \n".join(lines)]
    for block in [] if _is_told_whole(entry) else argument_blocks(entry.arguments):
        if block.label and block.label not in _LANGUAGES:
            blocks.append(f"{code_span(block.label)}:")
        blocks.append(fenced(block.text, _LANGUAGES.get(block.label, "")))
    return "\n\n".join(blocks)


def _is_told_whole(entry: Called) -> bool:
    """Whether the preview says all that the tool was called with, such as a short command."""
    values = list(entry.arguments.values())
    return len(values) == 1 and entry.preview == f"{entry.name}{ARROW}{values[0]}"


def _returned(entry: Returned) -> str:
    of = code_span(entry.call.preview.split("\n")[0] if entry.call else entry.name)
    head = f"✗ {of} failed:" if entry.is_error else f"↳ {of} returned:"
    body = fenced(entry.text.removesuffix("\n")) if entry.text.strip() else _EMPTY
    return f"{head}\n\n{body}"


def _noticed(entry: Noticed) -> str:
    if entry.kind == "output":
        return f"Printed outside the conversation:\n\n{fenced(entry.text)}"
    return quoted(f"✗ {entry.text}" if entry.kind == "error" else entry.text)


_WRITERS: dict[type[Entry], Callable[[Any], str]] = {
    Said: _said,
    Thought: _thought,
    Given: _given,
    Added: _added,
    Called: _called,
    Returned: _returned,
    Noticed: _noticed,
}
