"""What a conversation is made of on the screen: texts, thoughts, tool calls to unfold, notices.

Text from an agent never passes through textual's markup, and its Markdown through a parser that adds nothing to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Markdown, Static

from pi_subagents.export import Added, Called, Changed, Entry, Given, Noticed, Returned, Said, Thought
from pi_subagents.export.entries import Placed, Places
from pi_subagents.export.facts import argument_blocks, call_remarks
from pi_subagents.export.prose import answer_parser, is_too_deep
from pi_subagents.text import Line, Style, counted, printable, style_tool_line

MAX_MARKDOWN_CHARACTERS = 60_000
"""Longer texts are shown as they are: laying them out would hold the screen up."""
MAX_VERBATIM_CHARACTERS = 20_000
"""Of a longer result the beginning is shown; all of it is in the run's record."""
MAX_ITEMS = 20_000
MAX_BYTES = 32 * 1024 * 1024
_STYLES = {
    Style.TEXT: "",
    Style.BOLD: "bold",
    Style.TITLE: "bold $text-primary",
    Style.MUTED: "$foreground-muted",
    Style.DIM: "$foreground-muted italic",
    Style.ACCENT: "$text-accent",
    Style.ADDED: "$text-success",
    Style.REMOVED: "$text-error",
    Style.SUCCESS: "$text-success",
    Style.WARNING: "$text-warning",
    Style.ERROR: "$text-error",
}
"""The theme's own colours, so that light and dark both work."""


def painted(line: Line) -> Content:
    """A styled line as textual shows it; nothing in it is taken for markup, or obeyed by a terminal."""
    return Content.assemble(*((printable(text), _STYLES[style]) for style, text in line))


def painted_lines(lines: Iterable[Line]) -> Content:
    """Several lines, one below the other."""
    return Content("\n").join(painted(line) for line in lines)


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
            title = Static(role, classes="label", markup=False)
            return Vertical(title, verbatim(text), classes="titled")
        case Called():
            return CallBlock(entry)
        case Returned(name, text):
            return Fold([[(Style.MUTED, f"← {name}")]], [("", text)])
        case Changed(path, figures, diff):
            return Fold([[(Style.TEXT, f"± {path}"), (Style.MUTED, figures)]], [("", diff)])
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


class Pressable(Static, can_focus=True):
    """A line that does something on return, space or a click."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "press", "Press", show=False)]

    def __init__(self, act: Callable[[], None], id: str | None = None) -> None:
        super().__init__(markup=False, id=id)
        self._act = act

    def action_press(self) -> None:
        self._act()

    def on_click(self) -> None:
        self._act()


class FoldTitle(Pressable):
    """The line that stays when a block is folded."""


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


@dataclass(slots=True)
class Item(Placed):
    """A placed entry and its block, while that is laid out."""

    block: Widget | None = None

    def lay_out(self, *, unfolded: bool) -> Widget:
        self.block = block_of(self.entry)
        if isinstance(self.block, CallBlock) and self.result is not None:
            self.block.answer(self.result)
        if isinstance(self.block, Fold):
            self.block.set_open(unfolded)
        return self.block

    def answer(self, result: Returned) -> None:
        self.result = result
        if isinstance(self.block, CallBlock):
            self.block.answer(result)


class Items:
    """The blocks of a conversation, laid out or not: the latest, within a bound; `forgotten` were before them."""

    def __init__(self) -> None:
        self.held: list[Item] = []
        self.forgotten = 0
        self._places = Places(Item)

    def take(self, entries: Iterable[Entry]) -> None:
        """Add entries at the end; results go to their calls."""
        self.held += filter(None, map(self._places.put, entries))

    def put_first(self, entry: Entry) -> None:
        """Add an entry before all others."""
        self.held.insert(0, Item(entry, 0))

    def forget(self, most: int) -> int:
        """Let go of the oldest items that are too many or too much, `most` of them; returns how many."""
        count = 0
        while count < most and (len(self.held) - count > MAX_ITEMS or self._places.size > MAX_BYTES):
            self._places.forget(self.held[count])
            count += 1
        del self.held[:count]
        self.forgotten += count
        return count
