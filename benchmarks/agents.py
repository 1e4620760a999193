"""What the engine costs over the bare program, for each installed agent: `./scripts/bench agents`.

Bare is the same command line with the same files and environment, sent no more than the protocol needs. Both take turns
in one process that has loaded everything; the model is in another.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.figures import Figure, Measured, Rounds, medians, ratios, spread
from benchmarks.machine import say
from benchmarks.subjects import PROMPT, own_cpu_s
from pi_subagents.conformance import TESTED, TestedAgent, program_for
from pi_subagents.conformance.sink import Sink
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.delegation.preparation import PreparedRun, prepare_runs
from pi_subagents.errors import AgentNotFound
from pi_subagents.fold import fold
from pi_subagents.harness import harness_named
from pi_subagents.harness.programs import variable_of
from pi_subagents.harness.table import agent_of
from pi_subagents.models import Task
from pi_subagents.models.event import AgentSettled, AnyEvent, ApprovalRequested, Started
from pi_subagents.offline import OfflineModel, Script, Turn
from pi_subagents.place import Place
from scripts.bootstrap import AGENTS

NAMES = {agent_of(harness): harness for harness in TESTED}
"""The agents that can be pointed at the scripted model, with their harnesses."""
EVENTS = 50
GOAL_RATIO = 1.05
GOAL_CPU_MS = 15.0
WAYS: Mapping[str, Mapping[str, Mapping[str, str]]] = {"bare": {"pi-rpc": {"harness": "pi-json"}}, "engine": {}}
"""How the profiles differ: the bare `pi` is `pi --mode json -p`, as people start it without us."""
_PIECES = 40
_PIECE_S = 0.005
"""Models stream: agent and engine wake up for each piece."""
ANSWER = " ".join(f"Step {number} printed that it is ready." for number in range(_PIECES))
"""Each sentence differs: an agent may cut off text that repeats itself."""


def measure(names: Sequence[str], rounds: int) -> dict[str, Rounds]:
    """Every round of each installed agent, except the first, which fills the caches."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as scratch, Sink() as sink:
        for name in names:
            agent, folder = TESTED[NAMES[name]], Path(scratch) / name
            with OfflineModel(Script().otherwise(conversation(agent)), model_id=agent.model) as model:
                environ = set_up(agent, model, folder) | sink.environ
                try:
                    program_for(agent, Place.here(folder, environ))
                except AgentNotFound as missing:
                    say(f"not measured: {missing}")
                    continue
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                    found[name] = process.submit(take_turns, name, folder, environ, rounds).result()
    return found


def conversation(agent: TestedAgent) -> list[Turn]:
    """A call, then a text in pieces."""
    return [Turn(calls=(agent.tools.bash("echo ready"),)), Turn(ANSWER, chunks=_PIECES, chunk_delay_s=_PIECE_S)]


def set_up(agent: TestedAgent, model: OfflineModel, folder: Path) -> dict[str, str]:
    """Create an empty project and home; returns the environment for them."""
    profiles = folder / "agents" / "agent-profiles"
    for path in (folder / "project" / ".git", folder / "home", folder / "tmp", profiles):
        path.mkdir(parents=True)
    for way, changes in WAYS.items():
        said = {**agent.profile, **changes.get(agent.harness, {}), "name": way}
        lines = ["---", *(f"{field}: {json.dumps(value)}" for field, value in said.items()), "---", ""]
        (profiles / f"{way}.md").write_text("\n".join(lines), encoding="utf-8")
    brought = [shlex.quote(str(one.program)) for one in AGENTS if one.name == agent.harness and one.program]
    program = os.environ.get(variable := variable_of(agent.harness), *brought)
    own = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), "PATH": os.environ.get("PATH", os.defpath)}
    environ = {**own, **agent.environ(model, folder / "agents"), **({variable: program} if program else {})}
    model.write_agent_dir(folder / "agents", settings={"subagents": {"warmAgents": False}})
    return environ


def take_turns(name: str, folder: Path, environ: Mapping[str, str], rounds: int) -> Rounds:
    """Measure bare and engine in turn, in alternating order."""
    place = Place.here(folder / "project", environ)
    kept: dict[str, list[Measured]] = {way: [] for way in WAYS}
    with asyncio.Runner() as runner:
        for number in range(rounds + 1):
            for way in sorted(WAYS, reverse=bool(number % 2)):
                kept[way].append(bare(_prepared(place)) if way == "bare" else runner.run(engine(place)))
            say(f"{name}: " + ", ".join(f"{way} {done[-1]['wall_s']:.3f} s" for way, done in kept.items()))
    return {way: done[1:] for way, done in kept.items()}


def _prepared(place: Place) -> PreparedRun:
    settings = place.settings()
    harness = harness_named(settings.harness_name)
    (run,) = prepare_runs([Task("one", PROMPT, profile="bare")], place, settings, harness=harness)
    run.record.close()
    return run


def bare(run: PreparedRun) -> Measured:
    """Run the program alone, from its start to its end; `events` counts what it reported."""
    told, dialogue, events = run.invocation, run.harness.dialogue(run.invocation), list[AnyEvent]()
    start, pipe = time.perf_counter(), subprocess.PIPE
    # In a session of its own, as the engine starts its agents: Linux shares CPU time between sessions.
    with subprocess.Popen(
        told.argv,
        stdin=pipe,
        stdout=pipe,
        stderr=subprocess.DEVNULL,
        cwd=told.cwd,
        env=told.environ,
        start_new_session=True,
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(told.stdin)
        if told.interactive:
            agent.stdin.flush()
        else:
            agent.stdin.close()
        for line in agent.stdout:
            new = dialogue.decode(line.removesuffix(b"\n"), 0)
            events += new
            if agent.stdin.closed:
                continue
            agent.stdin.write(dialogue.take_replies())
            for asked in (event for event in new if isinstance(event, ApprovalRequested)):
                agent.stdin.write(dialogue.answer(asked.id, allowed=told.approvals == "allow"))
            agent.stdin.flush()
            if any(isinstance(event, AgentSettled) for event in new):
                agent.stdin.close()
    wall = time.perf_counter() - start
    _require_answer(fold(run.state, events).text, told.argv[0])
    return {"wall_s": wall, "events": len(events)}


def _require_answer(text: str, whose: str) -> None:
    if text.strip() != ANSWER:
        raise SystemExit(f"{whose} gave a wrong answer, {text[:200]!r}: the figures would mean nothing")


async def engine(place: Place) -> Measured:
    """Run the same task as a delegation with an observer; adds the CPU time of this process."""
    cpu_s: dict[type, float] = {}

    def observe(_state: object, events: Sequence[object]) -> None:
        cpu_s.update((type(event), own_cpu_s()) for event in events if isinstance(event, Started | AgentSettled))

    before, start = own_cpu_s(), time.perf_counter()
    (result,) = await Delegation([Task("one", PROMPT, profile="engine")], place=place, observer=observe)
    wall, cpu = time.perf_counter() - start, own_cpu_s() - before
    _require_answer(result.output if result.ok else f"{result.error}", "the engine")
    at_work = cpu_s[AgentSettled] - cpu_s[Started]
    return {"wall_s": wall, "cpu_ms": 1000 * cpu, "at_work_cpu_ms": 1000 * at_work}


def figures(found: Mapping[str, Rounds]) -> list[Figure]:
    """The measurements, for people."""
    kept = []
    for name, rounds in found.items():
        alone, ours = medians(rounds["bare"]), medians(rounds["engine"])
        low, high = spread(rounds, "bare", "engine")
        walls = f"{ours['wall_s']:.3f} s beside {alone['wall_s']:.3f} s; {low:.3f} to {high:.3f} in the single rounds"
        costs = f"{ours['cpu_ms']:.1f} ms for {alone['events']:.0f}, {ours['at_work_cpu_ms']:.1f} while the agent works"
        cpu_ms = ours["cpu_ms"] * EVENTS / alone["events"]
        kept += [
            Figure(f"{name}: engine / bare", ratios(rounds, "bare")["engine"], "×", GOAL_RATIO, note=walls),
            Figure(f"{name}: engine CPU for {EVENTS} events", cpu_ms, "ms", GOAL_CPU_MS, note=costs),
        ]
    return kept


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What the engine costs over the bare program, for each agent.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--agent", action="append", choices=list(NAMES), help="only this one; can be given repeatedly")
    options = parser.parse_args()
    found = measure(options.agent or list(NAMES), options.rounds)
    sys.stdout.write("\n".join(figure.line() for figure in figures(found)) + "\n")


if __name__ == "__main__":
    main()
