"""A preset's key reaches the agent of a background run through its environment, and nothing else ever holds it."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from pi_subagents.models import Reason
from pi_subagents.store import TIDY_FILE, load_run
from pi_subagents.testing import Action, prints
from pi_subagents.testing.agent import tells, waits_for
from pi_subagents.testing.records import AGENT_SETTLED, assistant
from tests.background.kit import Yard
from tests.kit.processes import all_pids, read
from tests.kit.waiting import until
from tests.pi.stage import files_below

KEY = f"sk-background-{uuid4().hex}-a-very-secret-value"
"""Another one in every process that runs tests: all processes of the machine are searched for it."""


def _holders(what: str) -> list[int]:
    """The processes in whose `what` the key is."""
    return [pid for pid in all_pids() if KEY.encode() in read(pid, what)]


def end_at(gate: Path) -> list[Action]:
    return [waits_for(gate), prints(assistant(), AGENT_SETTLED)]


async def test_a_key_is_in_the_environment_of_the_agent_and_nowhere_else(yard: Yard, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    yard.preset("keyed", f"apiKey: {KEY}")
    before = set(_holders("environ"))
    given_away = [tells("PI_API_KEY", way) for way in ("delta", "message", "line", "stderr", "session")]
    run_dir = await yard.launch_at_work(*given_away, then=end_at(gate), preset="keyed")
    agents = set(_holders("environ")) - before
    assert agents
    assert agents <= set(yard.stage.processes())
    assert _holders("cmdline") == []
    gate.touch()
    await yard.see_the_end(run_dir)
    until(lambda: not yard.keepers())
    assert (run_dir / "child-session.jsonl").stat().st_size > 0
    assert [path.name for path in files_below(tmp_path) if KEY.encode() in path.read_bytes()] == ["keyed.md"]


@pytest.mark.parametrize("killed", [True, False])
async def test_a_keeper_leaves_neither_key_nor_stand_in_behind(yard: Yard, tmp_path: Path, killed: bool) -> None:
    yard.preset("keyed", f"apiKey: {KEY}")
    gate = tmp_path / "gate"
    run_dir = await yard.launch_at_work(tells("PI_API_KEY", "session"), then=end_at(gate), preset="keyed")
    assert (run_dir / "agent-dir").is_dir()
    assert KEY.encode() not in (run_dir / TIDY_FILE).read_bytes()
    assert (run_dir / TIDY_FILE).stat().st_mode & 0o777 == 0o600
    if killed:
        yard.kill_keeper(run_dir)
        until(lambda: not yard.stage.processes())
        assert load_run(run_dir).reason is Reason.LOST
    else:
        gate.touch()
        await yard.see_the_end(run_dir)
        until(lambda: not yard.keepers())
    assert [path.name for path in files_below(tmp_path) if KEY.encode() in path.read_bytes()] == ["keyed.md"]
    assert not {"agent-dir", TIDY_FILE} & {path.name for path in run_dir.iterdir()}
    assert b"[redacted]" in (run_dir / "child-session.jsonl").read_bytes()
