"""What a conversation is made of on the screen: texts, thoughts, tool calls to unfold, notices.

Text from an agent never passes through textual's markup, and its Markdown through a parser that adds nothing to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Markdown, Static

from pi_subagents.export import (
    Added,
    Called,
    Entry,
    Given,
    Noticed,
    Returned,
    Said,
    Thought,
    answer_parser,
    argument_blocks,
    call_remarks,
    is_too_deep,
)
from pi_subagents.surfaces.watch.colours import painted_lines
from pi_subagents.text import Line, Style, counted, plain, style_tool_line

MAX_MARKDOWN_CHARACTERS = 60_000
"""Longer texts are shown as they are: laying them out would hold the screen up."""
MAX_VERBATIM_CHARACTERS = 20_000
"""Of a longer result the beginning is shown; all of it is in the run's record."""


def block_of(entry: Entry) -> Widget:
    """The widget for an entry other than a tool's result that answers a call."""
    match entry:
        case Said(text, unfinished):
            return said(text, unfinished=unfinished)
        case Thought(text):
            return verbatim(text, "thought")
        case Given(text):
            return Fold([[(Style.MUTED, "What the agent got with the task: files or earlier runs")]], [("", text)])
        case Added(role, text):
            return Titled(role, text)
        case Called():
            return CallBlock(entry)
        case Returned(name, text):
            return Fold([[(Style.MUTED, f"← {name}")]], [("", text)])
        case Noticed(text, "output"):
            count = counted(text.count("\n") + 1, "line")
            return Fold([[(Style.MUTED, f"Printed outside the conversation: {count}")]], [("", text)])
        case Noticed(text, kind):
            return verbatim(f"✗ {text}" if kind == "error" else text, kind)
    raise AssertionError(entry)


def said(text: str, *, unfinished: bool = False) -> Widget:
    """What the agent said, rendered."""
    if len(text) > MAX_MARKDOWN_CHARACTERS or is_too_deep(text):
        return verbatim(text, "said")
    text = f"{text}\n\n*(unfinished)*" if unfinished else text
    return Markdown(text, parser_factory=answer_parser, open_links=False, classes="said")


def verbatim(text: str, kind: str = "") -> Static:
    """A text as it is; of a very long one, the beginning."""
    more = len(text) - MAX_VERBATIM_CHARACTERS
    content = Content(text[:MAX_VERBATIM_CHARACTERS])
    if more > 0:
        content += Content.styled(f"\n… {more:,} more characters in the run's record", "$foreground-muted")
    return Static(content, classes=kind, markup=False)


class Titled(Vertical):
    """A text under the name of what it is."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__(classes="titled")
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        yield Static(self._title, classes="label", markup=False)
        yield verbatim(self._text)


class FoldTitle(Static, can_focus=True):
    """The line that stays when a block is folded."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "unfold", "Unfold", show=False)]

    def __init__(self, toggle: Callable[[], None]) -> None:
        super().__init__(markup=False)
        self._toggle = toggle

    def action_unfold(self) -> None:
        self._toggle()

    def on_click(self) -> None:
        self._toggle()


class Fold(Vertical):
    """Lines with labelled texts folded away below them; the texts are laid out when they are first unfolded."""

    def __init__(self, title: Sequence[Line], texts: Sequence[tuple[str, str]]) -> None:
        super().__init__(classes="fold")
        self._title_lines = list(title)
        self._texts = list(texts)
        self._title = FoldTitle(self.toggle)
        self.is_open = False

    def compose(self) -> ComposeResult:
        yield self._title

    def on_mount(self) -> None:
        self._paint_title()
        if self.is_open:
            self._lay_out()

    def toggle(self) -> None:
        """Fold or unfold."""
        self.set_open(not self.is_open)

    def set_open(self, is_open: bool) -> None:
        """Unfold, or fold."""
        if is_open == self.is_open:
            return
        self.is_open = is_open
        self.set_class(is_open, "-open")
        if self.is_attached:
            self._paint_title()
            self._lay_out()

    def _lay_out(self) -> None:
        self.query(".inside").remove()
        if self.is_open:
            self.mount(Vertical(*self._inside(), classes="inside"))

    def _inside(self) -> Iterator[Widget]:
        for label, text in self._texts:
            if label:
                yield Static(label, classes="label", markup=False)
            yield verbatim(text) if text.strip() else Static("(empty)", classes="notice")

    def _paint_title(self) -> None:
        first, *more = self._title_lines
        arrow = "▼ " if self.is_open else "▶ "
        lines: list[Line] = [[(Style.ACCENT, arrow), *first], *([(Style.TEXT, "  "), *line] for line in more)]
        self._title.update(painted_lines(lines))


class CallBlock(Fold):
    """A tool call; its result comes later."""

    def __init__(self, call: Called) -> None:
        self.call = call
        self._result: Returned | None = None
        super().__init__([], [])
        self._describe()

    def answer(self, result: Returned) -> None:
        """Take in what the tool returned."""
        self._result = result
        self._describe()
        if self.is_attached:
            self._paint_title()
            if self.is_open:
                self._lay_out()

    def _describe(self) -> None:
        failed = self._result is not None and self._result.is_error
        first, *more = f"→ {self.call.preview}".split("\n")
        remarks = " · ".join(call_remarks(self.call, self._result)) if self._result else "…"
        side = (Style.ERROR if failed else Style.MUTED, f"  {remarks}")
        self._title_lines = [[*style_tool_line(first), side], *([(Style.MUTED, line)] for line in more)]
        self._texts = [(block.label, block.text) for block in argument_blocks(self.call.arguments)]
        if self._result is not None:
            self._texts.append(("Result", self._result.text))
        self.set_class(failed, "failed")

    @property
    def title(self) -> str:
        """The first line in plain words."""
        return plain(self._title_lines[0])
