"""What GitHub Copilot is told of who asks; the offline model stands in for it."""

from __future__ import annotations

import json

import pytest

from pi_subagents.offline import Say, Script
from tests.pi.stage import Play, Stage

_SCRIPT = Script().otherwise([Say("Yes.")])


@pytest.fixture
def stage(play: Play) -> Stage:
    """A stage on which the model is also one of Copilot's."""
    stage = play(_SCRIPT)
    models = stage.agent_dir / "models.json"
    providers = json.loads(models.read_text())["providers"]
    models.write_text(json.dumps({"providers": {**providers, "github-copilot": providers["offline"]}}))
    return stage


def _initiator(stage: Stage) -> str | None:
    return {name.lower(): value for name, value in stage.model.requests[-1].headers.items()}.get("x-initiator")


async def test_a_sub_agent_says_that_an_agent_asks_even_without_extensions(stage: Stage) -> None:
    stage.write_profile("cautious", "model: github-copilot/scripted", "noExtensions: true")
    stage.write_profile("other", "model: offline/scripted")
    assert (await stage.run(profile="cautious")).ok
    assert _initiator(stage) == "agent"
    assert (await stage.run(profile="other")).ok
    assert _initiator(stage) is None


async def test_so_does_one_whose_model_pi_chooses(stage: Stage) -> None:
    settings = stage.agent_dir / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "defaultProvider": "github-copilot"}))
    (stage.agent_dir / "auth.json").write_text('{"github-copilot": {"type": "api_key", "key": "k"}}')
    assert (await stage.run()).ok
    assert _initiator(stage) == "agent"
