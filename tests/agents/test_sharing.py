"""The agents of a host: one pool for all directories that it is called from, unless settings differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from pi_subagents.agents.pool import AgentPool
from pi_subagents.agents.sharing import SharedAgents
from pi_subagents.errors import SettingsError
from pi_subagents.place import Place
from tests.kit.workplace import Workplace


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


async def test_directories_with_the_same_settings_share_a_pool(workplace: Workplace) -> None:
    agents = SharedAgents("mcp")
    (workplace.root / "other").mkdir()
    other = Place.here(workplace.root / "other", workplace.environ)
    assert agents.at(workplace.place) is agents.at(other)
    workplace.write_settings(maxLinesPerWindow=3)
    assert agents.at(workplace.place) is agents.at(other), "a setting that has nothing to do with it"


@pytest.mark.parametrize(
    "changed",
    [{"containment": "none"}, {"maxProcesses": 2}, {"warmIdleSeconds": 5}, {"warmMaxMemoryMb": 60}],
    ids=lambda changed: next(iter(changed)),
)
async def test_settings_that_say_otherwise_make_another_pool_and_the_old_one_keeps_nothing(
    workplace: Workplace, changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    agents, discarded = SharedAgents("mcp"), list[AgentPool]()
    monkeypatch.setattr(AgentPool, "discard_idle", lambda pool: discarded.append(pool))
    before = agents.at(workplace.place)
    agents.at(workplace.place)
    assert discarded == []
    workplace.write_settings(**changed)
    assert agents.at(workplace.place) not in (before, None)
    assert discarded == [before]


async def test_where_agents_are_no_longer_kept_none_stays(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents, discarded = SharedAgents("mcp"), list[AgentPool]()
    monkeypatch.setattr(AgentPool, "discard_idle", lambda pool: discarded.append(pool))
    before = agents.at(workplace.place)
    workplace.write_settings(warmAgents=False)
    assert agents.at(workplace.place) is None
    assert discarded == [before]


async def test_settings_that_cannot_be_used_are_no_obstacle_once_they_are_put_right(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(setting: str) -> NoReturn:
        raise SettingsError(f"{setting} does not work here")

    agents = SharedAgents("mcp")
    with monkeypatch.context() as patched:
        patched.setattr("pi_subagents.agents.pool.choose_mechanism", refuse)
        with pytest.raises(SettingsError):
            agents.at(workplace.place)
    workplace.write_settings(containment="guard")
    assert agents.at(workplace.place) is not None
