"""A profile's key is known to its agent and to nobody else, whatever the agent does with it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pi_subagents.models import event as ev
from pi_subagents.progress import Window
from pi_subagents.redaction import MARK
from pi_subagents.runs.run import RunResult
from pi_subagents.testing import Action, prints
from pi_subagents.testing.agent import Way, pauses, tells, waits_for, writes
from pi_subagents.testing.records import AGENT_SETTLED, AGENT_START, agent_end, delta
from tests.kit.waiting import until
from tests.process.kit import DONE, READY, Stage, until_ready

KEY = "sk-profile-0123456789abcdef-sk"
LONGER_THAN_A_DELTA_WAITS_S = 0.15

WAYS: list[Way] = ["delta", "message", "line", "stderr", "session"]


PROFILE = ("keyed", "provider: acme", f"apiKey: {KEY}")


@pytest.fixture
def keyed(plain_stage: Stage) -> Stage:
    """A stage with a profile that has a key."""
    plain_stage.write_profile(*PROFILE, body="Be brief.\n")
    return plain_stage


def found_in(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def about(pid: int, what: str) -> bytes:
    return Path(f"/proc/{pid}/{what}").read_bytes()


async def run_keyed(stage: Stage, *actions: Action) -> RunResult:
    return await stage.run(*actions, profile="keyed")


@pytest.mark.parametrize("way", WAYS)
async def test_a_key_that_the_agent_gives_away_is_written_nowhere(
    way: Way, keyed: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    result = await run_keyed(keyed, tells("PI_API_KEY", way, LONGER_THAN_A_DELTA_WAITS_S), DONE)
    assert result.status == "completed", result.error
    assert found_in(result.run_dir) == []
    assert KEY not in caplog.text
    assert KEY not in str(result)
    if way in ("line", "stderr", "message"):
        said = [event.text for event in keyed.events() if isinstance(event, ev.Output | ev.Stderr | ev.Message)]
        assert f"PI_API_KEY={MARK}" in "".join(said), "the journal shows that something was taken out"


async def test_a_key_streamed_in_two_halves_is_shown_to_nobody(keyed: Stage) -> None:
    shown: list[str] = []
    delegation = keyed.delegation(
        [
            prints(AGENT_START, delta("The key is ")),
            tells("PI_API_KEY", "delta", LONGER_THAN_A_DELTA_WAITS_S),
            prints(delta(", good.")),
            pauses(LONGER_THAN_A_DELTA_WAITS_S),
            prints(agent_end(), AGENT_SETTLED),
        ],
        profile="keyed",
    )
    window: Window | None = None
    async for update in delegation:
        window = window or Window(update.state)
        window.apply(update.event)
        shown += [update.state.text, str(window.to_details())]
    assert "The key is [redacted], good." in shown
    assert not [text for text in shown if KEY in text]
    deltas = [event.text for event in keyed.events() if isinstance(event, ev.Delta)]
    assert "".join(deltas) == "The key is [redacted], good."


async def test_a_key_that_is_spelt_in_numbers_is_found_too(keyed: Stage) -> None:
    spelt = "".join(f"\\u{ord(sign):04x}" for sign in KEY)
    message = f'{{"role":"assistant","stopReason":"stop","content":[{{"type":"text","text":"It is {spelt}."}}]}}'
    line = f'{{"type":"message_end","message":{message}}}\n'
    result = await run_keyed(keyed, prints(AGENT_START), writes(line.encode()), prints(agent_end(), AGENT_SETTLED))
    assert result.output == f"It is {MARK}."
    assert found_in(result.run_dir) == []


async def test_a_key_is_on_no_command_line(stage: Stage, tmp_path: Path) -> None:
    stage.write_profile(*PROFILE)
    delegation = stage.delegation([READY, waits_for(tmp_path / "go on"), DONE], profile="keyed")
    work = await until_ready(delegation)
    pids = stage.processes()
    assert len(pids) >= 2
    assert not [pid for pid in pids if KEY.encode() in about(pid, "cmdline")]
    assert [pid for pid in pids if KEY.encode() in about(pid, "environ")], "the agent must have it"
    assert found_in(stage.runs) == []
    (tmp_path / "go on").touch()
    await work
    assert found_in(stage.runs) == []
    until(lambda: not stage.processes())
