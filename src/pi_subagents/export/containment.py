"""Keeps a piece of Markdown to itself: nothing an agent wrote may swallow or restyle what comes after it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache

from pi_subagents.text.harmless import clean

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)")
_BACKTICKS = re.compile(r"`+")
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])(?!(?:https?://|mailto:)[^\s<>]*>)")
_MEANS_SOMETHING = re.compile(r"[\\`*\[\]<>&~|#]|(?<![^\W_])_|_(?![^\W_])")
"""An underscore inside a word means nothing."""
_HARMLESS = re.compile(r"[^<`~]*")
MAX_PROSE_CHARACTERS = 100_000
"""Longer texts are logs, not prose, and are not parsed for seconds."""


def contained(text: str) -> str:
    """The text with its code blocks closed, and with markup shown instead of obeyed; code stays as it is.

    Where even that would not keep it to itself (a fence inside a list that is never closed), it becomes a code block.
    """
    if _HARMLESS.fullmatch(text):
        return text
    if len(text) > MAX_PROSE_CHARACTERS:
        return fenced(text)
    closed = _closed(text)
    return closed if _parser()(closed) else fenced(text)


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


@cache
def _parser() -> Callable[[str], bool]:
    """Whether a Markdown parser finds no markup in a text, and what follows it still at the top level."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")

    def keeps_to_itself(text: str) -> bool:
        tokens = parser.parse(f"{text}\n\n.")
        inline = [child.type for token in tokens for child in token.children or ()]
        last = tokens[-2]
        found_markup = "html_inline" in inline or any(token.type == "html_block" for token in tokens)
        return last.content == "." and last.level == 1 and not found_markup

    return keeps_to_itself


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
