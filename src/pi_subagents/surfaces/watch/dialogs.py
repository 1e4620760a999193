"""Questions and help in front of everything else."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Button, Static, TextArea


class Confirmation(ModalScreen[bool]):
    """A question with yes and no; the harmless answer is the one that a hasty return key gives."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape,q", "answer(False)", "No"),
        Binding("left,right", "app.focus_next", "Other answer", show=False),
    ]

    def __init__(self, question: str, yes: str, no: str) -> None:
        super().__init__()
        self._question = question
        self._yes = yes
        self._no = no

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._question, markup=False)
            with Horizontal(classes="buttons"):
                yield Button(Content(f"{self._no} (n)"), id="no", compact=True)
                yield Button(Content(f"{self._yes} (y)"), id="yes", variant="error", compact=True)

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)


class _PromptArea(TextArea):
    """Return sends; a line break is Ctrl+J."""

    async def _on_key(self, event: Key) -> None:
        if event.key == "enter":
            event.prevent_default().stop()
            self.screen.dismiss(self.text)
        elif event.key == "ctrl+j":
            event.prevent_default().stop()
            self.insert("\n")
        else:
            await super()._on_key(event)


class PromptDialog(ModalScreen[str | None]):
    """Asks what a session should go on with."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name_of_run = name

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(f"What should {self._name_of_run} do now?", markup=False)
            yield _PromptArea(soft_wrap=True, highlight_cursor_line=False)
            yield Static(
                "It works inside this program: quitting watch stops it.\n"
                "enter: resume · ctrl+j: new line · esc: cancel",
                classes="notice",
                markup=False,
            )


class Help(ModalScreen[None]):
    """Every key, and what it does."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,enter", "dismiss(None)", "Close")]

    def __init__(self, keys: list[tuple[str, str]]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        width = max(len(key) for key, _ in self._keys)
        rows = [Content.assemble((f"{key:<{width}}", "bold $text-accent"), f"  {words}") for key, words in self._keys]
        with VerticalScroll(classes="dialog help"):
            yield Static("Keys", classes="label")
            yield Static(Content("\n").join(rows))
            yield Static("esc closes this", classes="notice")
