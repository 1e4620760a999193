"""The question for a new agent: where it works, which one it is, and what it shall do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList

from pi_subagents.harmless import printable
from pi_subagents.paths import home_dir
from pi_subagents.planning import Place
from pi_subagents.progress import clean, shorten_path
from pi_subagents.surfaces.watch.dialogs import PromptArea, PromptDialog
from pi_subagents.surfaces.watch.launching import Agent, agents_at

Start = Callable[[Place, Agent, str], Awaitable[None]]


class StartDialog(PromptDialog):
    """One of the agents of a place; where there are two places, the other one is a key away."""

    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+o", "other_place", "Other directory")]

    def __init__(self, places: Sequence[Place], act: Start) -> None:
        super().__init__("", "start", lambda text: act(self._place, self._agent, text))
        self._places = list(places)
        self._agents: list[Agent] = []
        self._list = OptionList(compact=True, markup=False)

    @property
    def _place(self) -> Place:
        return self._places[0]

    @property
    def _agent(self) -> Agent:
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
        self._agents = list(agents_at(self._place))
        self._list.clear_options()
        self._list.add_options([_label(agent) for agent in self._agents])
        self._list.highlighted = 0


def _label(agent: Agent) -> Content:
    name = clean(agent.preset or agent.profile or "")
    if not name:
        return Content("pi as it is, without a profile")
    kind = "preset" if agent.preset else "profile"
    about = " ".join(clean(agent.description).split())
    return Content.assemble((name, "bold"), (f"  {kind}  {about}", "$foreground-muted"))
