"""A model that fails: what pi can get over does not fail a run, and what it cannot is said in the provider's words."""

from __future__ import annotations

import pytest

from pi_subagents import Reason, Status, Task
from pi_subagents.models.event import RetryEnded, RetryStarted
from pi_subagents.offline import Attempts, Call, CutStream, Fail, Say, Script
from pi_subagents.store import JOURNAL_FILE, read_journal
from tests.pi.stage import Play

BUSY = Fail(429, "please slow down")
BROKEN = Fail(500, "the provider is on fire")


@pytest.mark.parametrize("failure", [BUSY, BROKEN, CutStream("Half an ans")], ids=["429", "500", "cut"])
async def test_a_failure_that_passes_does_not_fail_the_run(play: Play, failure: Fail | CutStream) -> None:
    work = Call("bash", {"command": "echo 1"})
    stage = play(Script().otherwise([Attempts(failure, work), Attempts(failure, Say("Done after all."))]))
    result = await stage.run()
    assert (result.ok, result.error, result.output, result.tool_count) == (True, None, "Done after all.", 1)
    assert len(stage.model.requests) == 4
    retries = [event for event in read_journal(result.run_dir / JOURNAL_FILE) if isinstance(event, RetryStarted)]
    assert len(retries) == 2


async def test_a_failure_for_good_is_an_error_in_the_providers_words(play: Play) -> None:
    script = Script().when("Fire", [BROKEN]).when("Cut", [CutStream("Half an ans")]).when("Key", [Fail(401, "bad key")])
    stage = play(script.otherwise([Say("Fine.")]))
    tasks = [Task(name, name) for name in ("Fire", "Cut", "Key", "Good")]
    fire, cut, key, good = await stage.delegate(*tasks)
    assert {(result.status, result.reason) for result in (fire, cut, key)} == {(Status.FAILED, Reason.AGENT_ERROR)}
    assert "the provider is on fire" in str(fire.error)
    assert "bad key" in str(key.error)
    assert cut.error
    assert good.ok
    attempts = [sum(r.first_user_text == name for r in stage.model.requests) for name in ("Fire", "Cut", "Key")]
    assert attempts == [4, 4, 1]  # pi tries three times more, but not with a key that was refused
    retries = [event for event in read_journal(fire.run_dir / JOURNAL_FILE) if isinstance(event, RetryEnded)]
    assert [event.success for event in retries] == [False]


async def test_a_tool_error_that_the_agent_got_over_does_not_fail_the_run(play: Play) -> None:
    stage = play(Script().otherwise([Call("bash", {"command": "exit 3"}), Call("no-such-tool"), Say("Recovered.")]))
    result = await stage.run()
    assert (result.ok, result.output, result.tool_count) == (True, "Recovered.", 2)


async def test_a_model_without_a_key_is_told_with_the_way_to_get_one(play: Play) -> None:
    stage = play(Script())
    stage.write_profile("keyless", "model: anthropic/claude-sonnet-4-5")
    result = await stage.run(profile="keyless")
    assert str(result.error) == (
        'Unknown model: "anthropic/claude-sonnet-4-5". pi offers no models from "anthropic"; if it lacks a key, '
        "run `pi-subagents pi` and type `/login`. Available models: offline/scripted"
    )


@pytest.mark.parametrize("warm", [False, True], ids=["JSON", "RPC"])
async def test_where_pi_itself_misses_a_key_it_is_said_too(play: Play, warm: bool) -> None:
    stage = play(Script())
    stage.write_settings(warmAgents=warm)
    (stage.agent_dir / "models.json").unlink()
    result = await stage.run()
    assert "Run `pi-subagents pi` and type `/login`." in str(result.error)
    assert "docs/providers.md" not in str(result.error)
