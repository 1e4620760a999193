"""A preset's key reaches the agent of a background run through its environment, and nothing else ever holds it."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.testing import prints
from pi_subagents.testing.agent import tells, touches, waits_for
from pi_subagents.testing.records import AGENT_SETTLED, assistant
from tests.background.kit import Yard
from tests.pi.stage import files_below
from tests.process.kit import wait_until

KEY = "sk-background-4711-a-very-secret-value"


def _holders(what: str) -> list[int]:
    """The processes in whose `what` the key is."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if KEY.encode() in (path / what).read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


async def test_a_key_is_in_the_environment_of_the_agent_and_nowhere_else(yard: Yard, tmp_path: Path) -> None:
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    yard.preset("keyed", f"apiKey: {KEY}")
    before = set(_holders("environ"))
    given_away = [tells("PI_API_KEY", way) for way in ("delta", "message", "line", "stderr", "session")]
    run_dir = await yard.launch(
        *given_away,
        touches(begun),
        waits_for(gate),
        prints(assistant(), AGENT_SETTLED),
        preset="keyed",
    )
    wait_until(begun.exists)
    agents = set(_holders("environ")) - before
    assert agents
    assert agents <= set(yard.stage.processes())
    assert _holders("cmdline") == []
    gate.touch()
    await yard.see_the_end(run_dir)
    wait_until(lambda: not yard.keepers())
    assert (run_dir / "child-session.jsonl").stat().st_size > 0
    assert [path.name for path in files_below(tmp_path) if KEY.encode() in path.read_bytes()] == ["keyed.md"]
