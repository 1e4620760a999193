"""The question for a new agent: where it works, which one it is, and what it shall do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList

from pi_subagents.paths import home_dir
from pi_subagents.place import Place
from pi_subagents.profiles import Agent, all_agents
from pi_subagents.surfaces.watch.dialogs import PromptArea, PromptDialog
from pi_subagents.text import clean, shorten_path
from pi_subagents.text.harmless import printable

Start = Callable[[Place, Agent | None, str], Awaitable[None]]


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
    about = " ".join(clean(agent.profile.description or "").split())
    return Content.assemble(
        (clean(agent.profile.name), "bold"), (f"  {agent.kind.word}  {about}".rstrip(), "$foreground-muted")
    )
