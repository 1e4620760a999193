"""Presets with the real pi: what the model is told and offered, which model it is, and what pi itself offers."""

from __future__ import annotations

import json

import pytest

from pi_subagents.offline import Request
from tests.pi.stage import Stage

PI_SAYS = "inside pi, a coding agent harness"


@pytest.fixture
def stage(stage: Stage) -> Stage:
    """Where pi has two models, `offline/other` and `offline/scripted`."""
    path = stage.agent_dir / "models.json"
    document = json.loads(path.read_text())
    models = document["providers"]["offline"]["models"]
    models.append({**models[0], "id": "other"})
    path.write_text(json.dumps(document))
    return stage


def asked(stage: Stage) -> dict[str, Request]:
    """The first request of each agent, by its task."""
    return {request.first_user_text: request for request in stage.model.requests if request.step == 0}


async def test_runs_have_the_tools_and_added_words_of_their_preset_and_the_calls_model_goes_before_its_own(
    stage: Stage,
) -> None:
    stage.write_preset("one", "model: offline/scripted", "tools: read,grep", body="You are one.")
    stage.write_preset("two", "model: offline/other", body="You are two.")
    stage.write_preset("bare", body="You are bare.")
    result = await stage.tool(
        "subagent",
        tasks=[
            {"preset": "one", "task": "a"},
            {"preset": "two", "task": "b"},
            {"preset": "one", "task": "c", "model": "other"},
            {"preset": "bare", "task": "d", "model": "offline/scripted"},
        ],
    )
    requests = asked(stage)
    models = [requests[task].body["model"] for task in "abcd"]
    assert models == ["scripted", "other", "other", "scripted"]
    words = ["You are one.", "You are two.", "You are one.", "You are bare."]
    for task, word in zip("abcd", words, strict=True):
        assert word in requests[task].system_text.partition(PI_SAYS)[2]
    assert set(requests["a"].tools) == {"read", "grep"}
    assert set(requests["b"].tools) == {"read", "bash", "edit", "write"}
    assert [row["resolvedModel"] for row in result.details["runs"]] == [f"offline/{model}" for model in models]
    assert result.text.count("completed") == 4


async def test_a_model_that_pi_does_not_offer_is_refused_with_what_was_meant_and_no_agent_starts(stage: Stage) -> None:
    stage.write_preset("p", "model: offline/scriptd")
    result = await stage.tool("subagent", preset="p", task="Look.")
    sentence = (
        'Unknown model: "offline/scriptd". Did you mean "offline/scripted"? '
        "Available models: offline/other, offline/scripted"
    )
    assert sentence in result.text
    assert result.is_error
    assert not stage.model.requests


async def test_pi_is_asked_for_its_models_once_and_again_when_its_configuration_changed(stage: Stage) -> None:
    stage.write_preset("p", "model: scripted")
    cache = stage.agent_dir / "subagents" / "models-offered.json"
    await stage.tool("subagent", preset="p", task="a")
    first = cache.read_bytes()
    await stage.tool("subagent", preset="p", task="b")
    assert cache.read_bytes() == first
    (stage.agent_dir / "auth.json").write_text('{"zai": {"type": "api_key", "key": "k"}}')
    assert "zai/" in (await stage.tool("subagent", preset="p", task="c", model="nobody/nothing")).text
    assert len(json.loads(cache.read_bytes())) == 2


async def test_a_preset_with_a_key_of_its_own_may_use_a_model_that_others_are_not_offered(stage: Stage) -> None:
    path = stage.agent_dir / "models.json"
    document = json.loads(path.read_text())
    document["providers"]["private"] = {**document["providers"]["offline"], "apiKey": "$NOBODY_HAS_THIS"}
    path.write_text(json.dumps(document))
    stage.write_preset("keyed", "model: private/other", "apiKey: sk-of-the-preset")
    stage.write_preset("unkeyed", "model: private/other")
    assert 'Unknown model: "private/other"' in (await stage.tool("subagent", preset="unkeyed", task="a")).text
    assert (await stage.tool("subagent", preset="keyed", task="b")).text == "Ok."
    (request,) = stage.model.requests
    assert request.body["model"] == "other"
