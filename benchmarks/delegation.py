"""What the engine costs: a delegation beside as many bare `pi` calls, on the offline model without any latency.

Only ratios of the same run mean anything: the two take turns, and medians are compared. The model's server lives in
this process, each subject in its own, so that nobody pays for another's work.

    ./scripts/bench [--rounds N] [--tasks N] [--jobs N] [--imports]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.startup import measure_startup, slowest_imports, with_bytecode
from benchmarks.subjects import SUBJECTS
from pi_subagents.offline import Call, OfflineModel, Say, Script, Turn, agent_environment

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "latest.json"

GOAL_WALL_RATIO = 1.10
GOAL_CPU_SHARE = 0.08
GOAL_HELP_MS = 150.0
BUSY_LOAD = 0.5
"""Work of others per core, from which on the figures say more about them than about us."""

Measured = dict[str, float]


def conversation() -> Script:
    """One tool call, then an answer: the smallest run that uses everything."""
    return Script().otherwise([Turn(calls=(Call("bash", {"command": "echo ready"}),)), Say("It printed: ready.")])


def measure_delegation(rounds: int, tasks: int, jobs: int) -> dict[str, list[Measured]]:
    """Every measurement of both subjects, which take turns; the first turn of each is not kept."""
    measured: dict[str, list[Measured]] = {name: [] for name in SUBJECTS}
    with OfflineModel(conversation()) as model, tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        agent_dir = model.write_agent_dir(Path(scratch) / "agent")
        environ = {**with_bytecode(os.environ), **agent_environment(agent_dir, os.environ)}
        for number in range(rounds + 1):
            # Who goes first changes, so that a machine that gets busier or quieter favours nobody.
            for name in sorted(measured, reverse=bool(number % 2)):
                folder = Path(scratch) / f"{name}-{number}"
                (folder / ".git").mkdir(parents=True)
                result = _measure(name, folder, tasks, jobs, environ)
                say(f"round {number}: {name:<6} {result['wall_s']:.2f} s{'' if number else '  (warming up)'}")
                if number:
                    measured[name].append(result)
    return measured


def _measure(name: str, folder: Path, tasks: int, jobs: int, environ: dict[str, str]) -> Measured:
    command = [sys.executable, "-m", "benchmarks.subjects", name, str(folder), str(tasks), str(jobs)]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    result: Measured = json.loads(done.stdout)
    if result["completed"] != tasks:
        raise SystemExit(f"{name} completed {result['completed']:g} of {tasks} tasks: the figures would mean nothing")
    return {**result, "process_wall_s": time.perf_counter() - start}


def summarise(measured: dict[str, list[Measured]]) -> dict[str, Any]:
    """Medians of each subject, and what they are compared by."""
    medians = {
        name: {key: statistics.median(round_[key] for round_ in rounds) for key in rounds[0]}
        for name, rounds in measured.items()
    }
    own, bare = medians["engine"], medians["bare"]
    pairs = list(zip(measured["engine"], measured["bare"], strict=True))
    ratios = sorted(engine["wall_s"] / other["wall_s"] for engine, other in pairs)
    shares = [round_["own_cpu_s"] / (round_["own_cpu_s"] + round_["agents_cpu_s"]) for round_ in measured["engine"]]
    return {
        "medians": medians,
        "wall_ratio": own["wall_s"] / bare["wall_s"],
        "wall_ratio_lowest": ratios[0],
        "wall_ratio_highest": ratios[-1],
        "process_wall_ratio": own["process_wall_s"] / bare["process_wall_s"],
        "cpu_ratio": statistics.median(_cpu_s(engine) / _cpu_s(other) for engine, other in pairs),
        "cpu_share": statistics.median(shares),
    }


def _cpu_s(measured: Measured) -> float:
    return measured["own_cpu_s"] + measured["agents_cpu_s"]


def table(summary: dict[str, Any], startup: dict[str, float]) -> str:
    """The figures for people."""
    rows = [f"{'':<28}{'bare pi':>10}{'engine':>10}"]
    columns = (
        ("wall", "wall_s", "s"),
        ("wall with Python's start", "process_wall_s", "s"),
        ("CPU of the agents", "agents_cpu_s", "s"),
        ("CPU of the caller", "own_cpu_s", "s"),
        ("memory of the caller", "peak_mb", "MB"),
    )
    for label, key, unit in columns:
        bare, own = (summary["medians"][name][key] for name in ("bare", "engine"))
        rows.append(f"{label:<28}{bare:>7.2f} {unit:<2}{own:>7.2f} {unit}")
    help_ms, python_ms = startup["help_ms"], startup["python_ms"]
    return "\n".join(
        [
            *rows,
            "",
            verdict("wall, engine / bare", summary["wall_ratio"], GOAL_WALL_RATIO, "×"),
            f"  {'  in the single rounds':<26}{summary['wall_ratio_lowest']:>8.2f} to "
            f"{summary['wall_ratio_highest']:.2f} (far apart means: a busy machine, so look at CPU)",
            f"  {'CPU in all, engine / bare':<26}{summary['cpu_ratio']:>8.2f} ×",
            verdict("the engine's share of CPU", 100 * summary["cpu_share"], 100 * GOAL_CPU_SHARE, "%"),
            verdict("pi-subagents --help", help_ms, GOAL_HELP_MS, "ms"),
            f"  {'python -c pass':<26}{python_ms:>8.2f} ms (--help takes {startup['ratio']:.1f}× as long)",
        ]
    )


def verdict(label: str, value: float, goal: float, unit: str) -> str:
    """A figure beside its goal."""
    return f"{'✓' if value <= goal else '✗'} {label:<26}{value:>8.2f} {unit:<3}(goal: at most {goal:g} {unit})"


def say(line: str) -> None:
    """Progress, apart from the figures."""
    sys.stderr.write(f"{line}\n")


def main() -> None:
    """Measure, print the table, and keep every figure."""
    parser = argparse.ArgumentParser(description="What the engine costs beside bare pi calls.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--imports", action="store_true", help="also list what --help imports")
    options = parser.parse_args()

    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    if load > BUSY_LOAD:
        say(f"warning: this machine is busy ({load:.1f} waiting per core); repeat this when it is not")
    say(f"{options.tasks} tasks, {options.jobs} at once, {options.rounds} rounds on {os.cpu_count()} cores")
    measured = measure_delegation(options.rounds, options.tasks, options.jobs)
    summary, startup = summarise(measured), measure_startup(5 * options.rounds)
    sys.stdout.write(table(summary, startup) + "\n")
    if options.imports:
        sys.stdout.write(f"\n{slowest_imports()}\n")
    RESULTS.parent.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "load_per_core_before": load}
    kept = {"options": vars(options), "machine": machine, **summary, "startup": startup, "rounds": measured}
    RESULTS.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
