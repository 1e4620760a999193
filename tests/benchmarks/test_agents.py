"""What the engine costs over a bare program: a wrong figure, or one of an agent that did nothing, would be believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import agents
from benchmarks.figures import Rounds
from pi_subagents.conformance import TESTED
from pi_subagents.offline import OfflineModel, Say, Script
from scripts.bootstrap import AGENTS

ROUNDS: Rounds = {
    "bare": [{"wall_s": 1.0, "events": 100}, {"wall_s": 2.0, "events": 100}, {"wall_s": 4.0, "events": 100}],
    "engine": [
        {"wall_s": 1.02, "cpu_ms": 20.0, "at_work_cpu_ms": 5.0},
        {"wall_s": 2.4, "cpu_ms": 28.0, "at_work_cpu_ms": 6.0},
        {"wall_s": 4.16, "cpu_ms": 90.0, "at_work_cpu_ms": 7.0},
    ],
}
INSTALLED = ["pi", *(agent.name for agent in AGENTS if agent.program)]


def test_walls_are_compared_within_a_round_and_cpu_is_told_for_fifty_events() -> None:
    wall, cpu = agents.figures({"claude": ROUNDS})
    assert wall.is_met
    assert wall.value == pytest.approx(1.04)
    assert wall.note == "2.400 s beside 2.000 s; 1.020 to 1.200 in the single rounds"
    assert cpu.is_met
    assert cpu.value == pytest.approx(14.0)
    assert cpu.note == "28.0 ms for 100, 6.0 while the agent works"


@pytest.mark.parametrize("name", [name for name in ("pi", "claude") if name in INSTALLED])
def test_the_bare_program_does_the_same_task_as_the_engine(name: str) -> None:
    rounds = agents.measure([name], 1)[name]
    assert {way: len(done) for way, done in rounds.items()} == {"bare": 1, "engine": 1}
    assert agents.EVENTS <= rounds["bare"][0]["events"] < 2 * agents.EVENTS
    assert 0 < rounds["engine"][0]["at_work_cpu_ms"] < rounds["engine"][0]["cpu_ms"]


def test_an_agent_that_does_not_do_its_task_is_not_measured(tmp_path: Path) -> None:
    with OfflineModel(Script().otherwise([Say("No.")])) as model:
        environ = agents.set_up(TESTED["pi-rpc"], model, tmp_path)
        with pytest.raises(SystemExit, match=r"gave a wrong answer, 'No\.'"):
            agents.take_turns("pi", tmp_path, environ, 1)


def test_an_agent_that_is_not_here_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(agents, "AGENTS", ())
    monkeypatch.setattr("pi_subagents.harness.programs.data_dir", lambda _environ: tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert agents.measure(["gemini"], 1) == {}
    assert "not measured: gemini is not installed" in capsys.readouterr().err
