"""Runs whose agents work in tmux panes, each held by a keeper of its own."""

from __future__ import annotations

from pi_subagents.background.launch import order_for
from pi_subagents.background.panes import PaneRun
from pi_subagents.delegation.holders import LocalHolders
from pi_subagents.delegation.preparation import PreparedRun
from pi_subagents.place import Place
from pi_subagents.runners import Runner
from pi_subagents.runners.detached import TmuxPanes
from pi_subagents.settings import Settings
from pi_subagents.supervisor import Holder, Observer


class TmuxHolders(LocalHolders):
    """Each run is held by a keeper in a tmux pane, which shows its window there."""

    def __init__(self, place: Place, settings: Settings, observer: Observer, agents: Runner | None = None) -> None:
        super().__init__(place, settings, observer, agents)
        self._panes = TmuxPanes(place.environ)
        self.hint = self._panes.hint

    def check(self) -> None:
        """Raise InvalidCall where there is no tmux."""
        self._panes.check()

    def hold(self, run: PreparedRun) -> Holder:
        """A keeper in a pane; until there is one, a supervisor that starts nothing."""
        order = order_for(run, self._place, self._settings)
        return PaneRun(run, order, self._supervisor(run), self._panes, self._observer)
