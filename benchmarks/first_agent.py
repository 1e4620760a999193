"""How soon one task's agent is started, what that time is made of, and how long a call that needs no agent takes.

    ./scripts/bench first_agent [--rounds N]

The agent is the real `pi` on the offline model, below a script that notes when it was started. Bare calls of `pi` take
turns with ours. What the time is made of is measured in calls of their own, because looking costs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.delegation import conversation
from benchmarks.figures import Figure
from benchmarks.startup import PYTHON, with_bytecode
from benchmarks.subjects import PROMPT
from pi_subagents.harness.pi.programs import find_pi
from pi_subagents.offline import OfflineModel, agent_environment

PROGRAM = str(Path(sys.executable).with_name("pi-subagents"))
GOAL_START_MS = 110.0
GOAL_LIST_MS = 90.0
GOAL_RATIO = 1.15

_CALL = ("call", "delegate_to_subagents", json.dumps({"tasks": [{"name": "one", "prompt": PROMPT}]}))
_PARTS = ("interpreter", "imports", "planning", "record", "spawn")
_LIST = ("call", "list_subagent_profiles")
_NOTING = """#!/bin/sh
date +%s.%N >>'{marks}'
exec {pi} "$@"
"""
# Adds up what is spent in imports and in writing the record until the agent's process is made.
_LOOKING = """
import time
began = time.time()
import importlib._bootstrap as bootstrap, json, os, sys
spent, depth = {"imports": 0.0, "record": 0.0}, {"imports": 0, "record": 0}
def timed(kind, work):
    def run(*args, **options):
        depth[kind] += 1
        start = time.perf_counter()
        try:
            return work(*args, **options)
        finally:
            depth[kind] -= 1
            spent[kind] += 0 if depth[kind] else time.perf_counter() - start
    return run
load = timed("imports", bootstrap._find_and_load)
def find_and_load(name, import_):
    module = load(name, import_)
    if name == "pi_subagents.delegation.preparation":
        for name in ("publish", "force_directory"):
            setattr(module, name, timed("record", getattr(module, name)))
    if name == "pi_subagents.runners.local":
        popen = module.subprocess.Popen
        def start(*args, **options):
            with open(os.environ["BENCH_FOUND"], "w") as file:
                json.dump({"began": began, "spawned": time.time(), **spent}, file)
            return popen(*args, **options)
        module.subprocess = type("subprocess", (), {**vars(module.subprocess), "Popen": staticmethod(start)})
    return module
bootstrap._find_and_load = find_and_load
sys.argv = ["pi-subagents", *sys.argv[1:]]
from pi_subagents.surfaces.cli import run_program
run_program()
"""


class _Bench:
    """A project, an agent directory, and programs that are started there one after the other."""

    def __init__(self, root: Path, model: OfflineModel) -> None:
        self._root = root
        self._marks, self._found = root / "marks", root / "found"
        self._project = root / "project"
        (self._project / ".git").mkdir(parents=True)
        self._pi = find_pi(None, os.environ).argv
        noting = self._script("pi", self._pi)
        self._noting_alone = self._script("alone", ("true",))
        agent_dir = model.write_agent_dir(root / "agent", settings={"subagents": {"piCommand": [str(noting)]}})
        found = {"BENCH_FOUND": str(self._found)}
        self._environ = {**with_bytecode(os.environ), **agent_environment(agent_dir, os.environ), **found}
        self._number = 0

    def one_task(self) -> dict[str, float]:
        """One task from the command line, in milliseconds."""
        start, end, agent_start = self._call((PROGRAM, *_CALL))
        return {
            "exec_to_exec_ms": (agent_start - start) * 1000 - self._noting_ms(),
            "one_task_ms": (end - start) * 1000,
        }

    def composition(self) -> dict[str, float]:
        """What the time until its agent is made of."""
        start, _, agent_start = self._call((sys.executable, "-c", _LOOKING, *_CALL))
        found = json.loads(self._found.read_text(encoding="utf-8"))
        until_spawn = found["spawned"] - found["began"]
        return {
            "interpreter_ms": (found["began"] - start) * 1000,
            "imports_ms": found["imports"] * 1000,
            "record_ms": found["record"] * 1000,
            "planning_ms": (until_spawn - found["imports"] - found["record"]) * 1000,
            "spawn_ms": (agent_start - found["spawned"]) * 1000 - self._noting_ms(),
        }

    def bare(self) -> dict[str, float]:
        """The same task by a bare call of `pi`."""
        self._number += 1
        session = self._root / f"bare-{self._number}.jsonl"
        options = ("--mode", "json", "-p", "--no-prompt-templates", "--session", str(session))
        return {"bare_ms": self._wall_ms((*self._pi, *options), PROMPT)}

    def list_profiles(self) -> dict[str, float]:
        """A call that starts nothing, and Python alone."""
        return {"list_profiles_ms": self._wall_ms((PROGRAM, *_LIST)), "python_ms": self._wall_ms(PYTHON)}

    def _script(self, name: str, command: Sequence[str]) -> Path:
        script = self._root / name
        script.write_text(_NOTING.format(marks=self._marks, pi=" ".join(command)), encoding="utf-8")
        script.chmod(0o755)
        return script

    def _call(self, command: Sequence[str]) -> tuple[float, float, float]:
        """When it was started and ended, and when its agent was."""
        start = time.time()
        done = self._run(command)
        end = time.time()
        if b"completed" not in done:
            raise SystemExit(f"the task was not completed: {done.decode(errors='replace')}")
        return start, end, self._noted()

    def _noting_ms(self) -> float:
        """What it takes to note the time."""
        start = time.time()
        self._run((str(self._noting_alone),))
        return (self._noted() - start) * 1000

    def _noted(self) -> float:
        return float(self._marks.read_text(encoding="utf-8").split()[-1])

    def _wall_ms(self, command: Sequence[str], stdin: str = "") -> float:
        start = time.perf_counter()
        self._run(command, stdin)
        return (time.perf_counter() - start) * 1000

    def _run(self, command: Sequence[str], stdin: str = "") -> bytes:
        # In a session of its own, as the engine starts its agents: Linux shares CPU time between sessions.
        done = subprocess.run(
            command,
            input=stdin.encode(),
            stdout=subprocess.PIPE,
            cwd=self._project,
            env=self._environ,
            start_new_session=True,
            check=True,
        )
        return done.stdout


def measure(rounds: int) -> dict[str, float]:
    """The median of everything, and of the ratios within each round; they take turns."""
    kept: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, OfflineModel(conversation(0.0)) as model:
        bench = _Bench(Path(scratch), model)
        for _ in range(rounds + 1):
            found = bench.one_task() | bench.bare() | bench.list_profiles() | bench.composition()
            kept.append({**found, "one_task_ratio": found["one_task_ms"] / found["bare_ms"]})
    # The first round only fills the caches.
    return {name: statistics.median(found[name] for found in kept[1:]) for name in kept[0]}


def figures(found: Mapping[str, float]) -> list[Figure]:
    """What was measured, for people."""
    start = found["exec_to_exec_ms"]
    return [
        Figure("call, from its execve to that of its agent", start, "ms", GOAL_START_MS, note=made_of(found)),
        Figure("one task beside a bare pi call", found["one_task_ratio"], "×", GOAL_RATIO),
        Figure("call list_subagent_profiles", found["list_profiles_ms"], "ms", GOAL_LIST_MS),
    ]


def made_of(found: Mapping[str, float]) -> str:
    """What the time until the agent's start is made of."""
    return ", ".join(f"{part} {found[f'{part}_ms']:.0f}" for part in _PARTS)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How soon one task's agent is started.")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    options = parser.parse_args()
    found = measure(options.rounds)
    lines = [json.dumps(found)] if options.json else [figure.line() for figure in figures(found)]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
