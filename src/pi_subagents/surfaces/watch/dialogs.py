"""Questions and help in front of everything else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Button, OptionList, Static, TextArea

from pi_subagents.errors import PiSubagentsError, with_advice
from pi_subagents.paths import home_dir
from pi_subagents.place import Place
from pi_subagents.profiles import Agent, all_agents
from pi_subagents.text import clean, one_line, printable, shorten_path

Start = Callable[[Place, Agent | None, str], Awaitable[None]]


class Confirmation(ModalScreen[bool]):
    """Whether to stop a run; the harmless answer is the one that a hasty return key gives."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape,q", "answer(False)", "No"),
        Binding("left,right", "app.focus_next", "Other answer", show=False),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._question, markup=False)
            with Horizontal(classes="buttons"):
                yield Button(Content("Keep it running (n)"), id="no", compact=True)
                yield Button(Content("Stop it (y)"), id="yes", variant="error", compact=True)

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)


class PromptArea(TextArea):
    """Return sends; a line break is Ctrl+J."""

    class Submitted(Message):
        """Return was pressed."""

    async def _on_key(self, event: Key) -> None:
        if event.key == "enter":
            event.prevent_default().stop()
            self.post_message(self.Submitted())
        elif event.key == "ctrl+j":
            event.prevent_default().stop()
            self.insert("\n")
        else:
            await super()._on_key(event)


class PromptDialog(ModalScreen[None]):
    """Asks for words and acts on them. What prevents that is said below them, and they stay as they were typed."""

    AUTO_FOCUS = "PromptArea"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]

    def __init__(self, question: str, verb: str, act: Callable[[str], Awaitable[None]]) -> None:
        super().__init__()
        self._question = Static(question, markup=False)
        self._verb = verb
        self._act = act
        self._problem = Static(classes="error", markup=False)
        self._is_acting = False

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", can_focus=False):
            yield self._question
            yield from self.choices()
            yield PromptArea(soft_wrap=True, highlight_cursor_line=False)
            yield self._problem
            yield Static(" · ".join(self.hints()), classes="notice", markup=False)

    def choices(self) -> ComposeResult:
        """What else there is to decide, between the question and the words."""
        return iter(())

    def hints(self) -> list[str]:
        """The keys, in words."""
        return [f"enter: {self._verb}", "ctrl+j: new line", "esc: cancel"]

    def on_mount(self) -> None:
        self._problem.display = False

    def on_prompt_area_submitted(self) -> None:
        """Act on the words."""
        text = self.query_one(PromptArea).text
        if not text.strip():
            self._say("Type something first, or press esc to cancel.")
        elif not self._is_acting:
            self._is_acting = True
            self.app.run_worker(self._attempt(text))  # the app's: what was sent is sent, though esc closes the dialog

    async def _attempt(self, text: str) -> None:
        try:
            await self._act(text)
        except (PiSubagentsError, OSError) as error:
            self._is_acting = False
            if self.is_current:
                self._say(printable(with_advice(error)))
            else:  # it was left in the meantime
                self.app.notify(printable(with_advice(error)), severity="error", markup=False)
            return
        if self.is_current:
            self.dismiss(None)

    def _say(self, problem: str) -> None:
        self._problem.update(problem)
        self._problem.display = True
        self.call_after_refresh(self._problem.scroll_visible, animate=False)


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


class StartDialog(PromptDialog):
    """One of the agents of a place; where there are two places, the other one is a key away."""

    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+o", "other_place", "Other directory")]

    def __init__(self, places: Sequence[Place], act: Start) -> None:
        super().__init__("", "start", lambda text: act(self._place, self._agent, text))
        self._places = list(places)
        self._agents: list[Agent | None] = []
        self._list = OptionList(compact=True, markup=False)

    @property
    def _place(self) -> Place:
        return self._places[0]

    @property
    def _agent(self) -> Agent | None:
        return self._agents[self._list.highlighted or 0]

    def choices(self) -> ComposeResult:
        yield self._list

    def hints(self) -> list[str]:
        return ["tab: agent or task", *super().hints()]

    def on_mount(self) -> None:
        self._show_place()

    def action_other_place(self) -> None:
        self._places.reverse()
        self._show_place()

    def on_option_list_option_selected(self) -> None:
        self.query_one(PromptArea).focus()

    def _show_place(self) -> None:
        here, *others = (shorten_path(str(place.cwd), home=str(home_dir())) for place in self._places)
        lines = [f"A new agent in {here}", *(f"ctrl+o: in {other} instead" for other in others)]
        self._question.update(printable("\n".join(lines)))
        self._agents = [None, *all_agents(self._place.cwd, self._place.agent_dir)]
        self._list.clear_options()
        self._list.add_options([_label(agent) for agent in self._agents])
        self._list.highlighted = 0


def _label(agent: Agent | None) -> Content:
    if agent is None:
        return Content("plain pi, without a profile")
    about = one_line(agent.profile.description or "")
    return Content.assemble(
        (clean(agent.profile.name), "bold"), (f"  {agent.kind.word}  {about}".rstrip(), "$foreground-muted")
    )
