"""A session as Markdown: complete, readable as plain text, and rendered well wherever Markdown is.

Every piece of it is kept to itself: nothing an agent wrote may swallow or restyle what comes after it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from pi_subagents.export.entries import Added, Called, Changed, Entry, Given, Noticed, Returned, Said, Thought
from pi_subagents.export.facts import RunPage, argument_blocks, figures, session_facts, status_words, title
from pi_subagents.fold import RunState
from pi_subagents.progress import ARROW
from pi_subagents.text import clean, printable
from pi_subagents.text.patterns import pattern

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LANGUAGES = {"command": "sh"}
_FENCE = pattern(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)")
_BACKTICKS = pattern(r"`+")
_MARKUP = pattern(r"<(?=[A-Za-z/!?])(?!(?:https?://|mailto:)[^\s<>]*>)")
_MEANS_SOMETHING = pattern(r"[\\`*\[\]<>&~|#]|(?<![^\W_])_|_(?![^\W_])")
"""An underscore inside a word means nothing."""
_HARMLESS = pattern(r"[^<`~]*")
MAX_PROSE_CHARACTERS = 100_000
"""Longer texts are logs, not prose, and are not parsed for seconds."""


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
    how = "" if state.beginning == "fresh" else f" ({state.beginning})"
    yield f"## Run {number} of {count}{how}" if count > 1 else "## Task"
    yield quoted(printable(state.prompt).strip())


def run_ending(state: RunState) -> str:
    """How the run ended, or that it has not."""
    return f"---\n\n{inline(status_words(state))} · {inline(figures(state))}"


def entry_markdown(entry: Entry) -> str:
    """One entry as one block."""
    match entry:
        case Said(text, unfinished):
            return contained(text.strip()) + ("\n\n*(unfinished)*" if unfinished else "")
        case Thought(text):
            return quoted(f"*Thinking:* {text.strip()}")
        case Given(text):
            return f"The agent got files or earlier runs with the task:\n\n{fenced(text)}"
        case Added(role, text):
            return f"**{inline(role)}:**\n\n{quoted(text.strip())}"
        case Called():
            return _called(entry)
        case Returned():
            return _returned(entry)
        case Changed(path, figures, diff):
            return f"± {code_span(path)}{figures}" + (f"\n\n{fenced(diff, 'diff')}" if diff.strip() else "")
        case Noticed(text, "output"):
            return f"Printed outside the conversation:\n\n{fenced(text)}"
        case Noticed(text, kind):
            return quoted(f"✗ {text}" if kind == "error" else text)
    raise AssertionError(entry)


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
    body = fenced(entry.text.removesuffix("\n")) if entry.text.strip() else "*(empty)*"
    return f"{head}\n\n{body}"


def contained(text: str) -> str:
    """The text with its code blocks closed, and with markup shown instead of obeyed; code stays as it is.

    Where even that would not keep it to itself (a fence inside a list that is never closed), it becomes a code block.
    """
    if _HARMLESS.fullmatch(text):
        return text
    if len(text) > MAX_PROSE_CHARACTERS:
        return fenced(text)
    closed = _closed(text)
    return closed if _keeps_to_itself(closed) else fenced(text)


def _closed(text: str) -> str:
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            lines.append(line)
            if found and found["marks"].startswith(fence) and not found["info"].strip():
                fence = ""
        elif found and not (found["marks"][0] == "`" and "`" in found["info"]):
            fence = found["marks"]
            lines.append(line)
        else:
            lines.append(_without_markup(line))
    return "\n".join([*lines, fence] if fence else lines)


def _keeps_to_itself(text: str) -> bool:
    """Whether a Markdown parser finds no markup in a text, and what follows it still at the top level."""
    tokens = _parser().parse(f"{text}\n\n.")
    kinds = {token.type for token in tokens} | {child.type for token in tokens for child in token.children or ()}
    last = tokens[-2]
    return last.content == "." and last.level == 1 and not kinds & {"html_inline", "html_block"}


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def fenced(text: str, language: str = "") -> str:
    """The text as a code block that it cannot end."""
    marks = "`" * max(3, _longest_ticks(text) + 1)
    return f"{marks}{language}\n{text}\n{marks}"


def code_span(text: str) -> str:
    """The text as code inside a line: it cannot end it, not even with a blank line."""
    text = clean(text) or " "
    marks = "`" * (_longest_ticks(text) + 1)
    gap = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{marks}{gap}{text}{gap}{marks}"


def inline(text: str) -> str:
    """The text as mere text inside a line, a heading or an item of a list: no character of it means anything."""
    return _MEANS_SOMETHING.sub(r"\\\g<0>", clean(text))


def quoted(text: str) -> str:
    """The text as a quotation, which ends with it whatever it holds; a very long one as a code block."""
    if len(text) > MAX_PROSE_CHARACTERS:
        return fenced(text)
    return "\n".join(f"> {line}".rstrip() for line in contained(text).split("\n"))


def _without_markup(line: str) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in _code_spans(line):
        pieces += [_MARKUP.sub(r"\\<", line[position:start]), line[start:end]]
        position = end
    return "".join([*pieces, _MARKUP.sub(r"\\<", line[position:])])


def _code_spans(line: str) -> Iterator[tuple[int, int]]:
    """Where code begins and ends: between two runs of as many backticks; each run is looked at once."""
    runs = [run.span() for run in _BACKTICKS.finditer(line)]
    of_length: dict[int, deque[tuple[int, int]]] = {}
    for start, end in runs:
        of_length.setdefault(end - start, deque()).append((start, end))
    position = 0
    for start, end in runs:
        same = of_length[end - start]
        while same and same[0][0] <= start:
            same.popleft()
        if start >= position and same and line[start - 1 : start] != "\\":
            position = same[0][1]
            yield start, position


def _longest_ticks(text: str) -> int:
    return max((run.end() - run.start() for run in _BACKTICKS.finditer(text)), default=0)
