"""Who holds the runs of a call: one row for each runner that the setting `subagents.runner` can name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from pi_subagents.agents.pool import agents_for
from pi_subagents.delegation.preparation import PreparedRun
from pi_subagents.place import Place
from pi_subagents.runners import Runner
from pi_subagents.settings import RunnerName, Settings
from pi_subagents.store import Pace
from pi_subagents.supervisor import Holder, Observer, Pacing, Supervisor


class LocalHolders:
    """Runs are held by this process, which starts their agents. `agents` are somebody else's to close."""

    hint: str | None = None
    """How to look at runs that are shown elsewhere."""

    def __init__(self, place: Place, settings: Settings, observer: Observer, agents: Runner | None = None) -> None:
        self._place = place
        self._settings = settings
        self._observer = observer
        self._pace = Pace(place.agent_dir)
        self._shared_agents = agents
        self._own_agents: Runner | None = None

    def check(self) -> None:
        """Raise InvalidCall where runs cannot be held like this."""

    def hold(self, run: PreparedRun) -> Holder:
        """Whoever sees a prepared run through."""
        return self._supervisor(run)

    async def close(self) -> None:
        """Leave no agent behind."""
        if self._own_agents is not None:
            await self._own_agents.close()

    def _supervisor(self, run: PreparedRun) -> Supervisor:
        return Supervisor(
            run.record,
            run.state,
            run.invocation,
            run.harness,
            self._agents(),
            run.limits,
            Pacing(self._pace, run.harness.default_provider(self._place.cwd, self._place.agent_dir)),
            problem=run.plan.problem,
            observer=self._observer,
        )

    def _agents(self) -> Runner:
        if self._shared_agents is not None:
            return self._shared_agents
        self._own_agents = self._own_agents or agents_for(self._place, self._settings)
        return self._own_agents


HOLDERS: Mapping[RunnerName, str] = {
    "local": "pi_subagents.delegation.holders.LocalHolders",
    "tmux": "pi_subagents.delegation.panes.TmuxHolders",
}


def holders_named(name: RunnerName) -> type[LocalHolders]:
    """Load the holders of a runner."""
    module, _, kind = HOLDERS[name].rpartition(".")
    holders: type[LocalHolders] = getattr(import_module(module), kind)
    return holders
