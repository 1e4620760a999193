"""What is going on in a run at this moment, below its lines: unfinished text, a tool's output, a notice.

It is gone once the finished message or result is there, and no record of it is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Literal

from pi_subagents.models import event as ev
from pi_subagents.text.cells import clip, clip_start
from pi_subagents.text.harmless import clean
from pi_subagents.text.segments import Segment, Style

MAX_PARTIAL_CHARS = 8192
"""Only the end of what is being written is ever shown: this fills a large screen."""
MAX_LINE_CELLS = 2000
"""A line longer than any screen is cut; the run's record keeps it whole."""


class LiveArea:
    """Takes pieces as they come and puts them together only when somebody looks."""

    def __init__(self) -> None:
        self._deltas: deque[ev.Delta] = deque()
        self._chars = 0
        self._tool_line: str | None = None
        self._notice: str | None = None
        self._stopping: str | None = None

    def write(self, delta: ev.Delta) -> bool:
        """Add a piece of a message; arguments of a tool call are not shown before they are complete."""
        if delta.kind == "toolCall" or not delta.text:
            return False
        self._deltas.append(delta)
        self._chars += len(delta.text)
        while self._chars - len(self._deltas[0].text) >= MAX_PARTIAL_CHARS:
            self._chars -= len(self._deltas.popleft().text)
        self._notice = None
        return True

    def show_tool_line(self, line: str | None) -> bool:
        """Show the last line that a running tool printed; None takes it away."""
        changed = line != self._tool_line
        self._tool_line = line
        return changed

    def show_notice(self, words: str | None) -> bool:
        """Show a notice until something new happens; None takes it away."""
        changed = words != self._notice
        self._notice = words
        return changed

    def show_stopping(self, words: str | None) -> bool:
        """Show that the run is being stopped until it has ended."""
        changed = words != self._stopping
        self._stopping = words
        return changed

    def clear_message(self) -> bool:
        """The message is complete, or a new one begins."""
        changed = bool(self._deltas) or self._notice is not None
        self._deltas.clear()
        self._chars = 0
        self._notice = None
        return changed

    def lines(self) -> list[Segment]:
        """The area line by line; thoughts are dim."""
        lines = list(self._message_lines())
        if self._tool_line and (output := clean(self._tool_line).strip()):
            lines.append((Style.DIM, f"  {clip(output, MAX_LINE_CELLS)}"))
        lines += [(Style.WARNING, words) for words in (self._notice, self._stopping) if words]
        return lines

    def _message_lines(self) -> Iterator[Segment]:
        self._join_deltas()
        for delta in self._deltas:
            style = Style.DIM if delta.kind == "thinking" else Style.TEXT
            for line in clean(delta.text, keep_newlines=True).split("\n"):
                if line := line.rstrip():
                    yield style, clip_start(line, MAX_LINE_CELLS)  # its end is what is new

    def _join_deltas(self) -> None:
        """Keep what was put together for this look, so that the next one has only the new pieces to add."""
        runs = [(kind, "".join(delta.text for delta in run)) for kind, run in groupby(self._deltas, _kind)]
        self._deltas = deque(ev.Delta(kind=kind, text=text[-MAX_PARTIAL_CHARS:]) for kind, text in runs)
        self._chars = sum(len(delta.text) for delta in self._deltas)


_kind: Callable[[ev.Delta], Literal["text", "thinking", "toolCall"]] = attrgetter("kind")
