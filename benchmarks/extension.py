"""How long `pi` takes until it is ready, with the extension and without it, taking turns.

Ready is the first answer over RPC. `warm` is every start but the first: pi keeps what it compiled of an extension in
the temporary directory, and `install pi` has it compiled. `cold` is a start without that.

    ./scripts/bench extension [--rounds 20]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.figures import Figure, Measured, medians, ratios, spread
from benchmarks.machine import busy_share, say
from pi_subagents import __version__
from pi_subagents.harness.pi.programs import find_pi
from pi_subagents.installing import pi_extension
from pi_subagents.offline import OfflineModel, Say, Script, agent_environment
from pi_subagents.place import Place

GOAL = 1.10
_ANSWER_TIMEOUT_S = 60


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench extension")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    say(f"others use {busy_share():.0%} of this machine")
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, OfflineModel(Script().otherwise([Say("")])) as model:
        places = {name: _place(Path(scratch) / name, model) for name in ("without", "with")}
        pi_extension.install(places["with"], "user", __version__)
        figures = [
            *_figures("warm", _measure(places, options.rounds, cold=False), GOAL),
            *_figures("cold", _measure(places, max(3, options.rounds // 4), cold=True), None),
        ]
    for figure in figures:
        print(figure.line())  # noqa: T201


def _place(folder: Path, model: OfflineModel) -> Place:
    project = folder / "project"
    project.mkdir(parents=True)
    agent_dir = model.write_agent_dir(folder / "agent")
    environ = {**os.environ, **agent_environment(agent_dir, os.environ)}
    return Place(project, agent_dir, environ)


def _measure(places: Mapping[str, Place], rounds: int, *, cold: bool) -> dict[str, list[Measured]]:
    times: dict[str, list[Measured]] = {name: [] for name in places}
    with tempfile.TemporaryDirectory(prefix="bench-compiled-") as compiled:
        for number in range(rounds + 1):
            # Who goes first pays for what the other finds in the caches.
            for name in sorted(places, reverse=number % 2 == 1):
                with tempfile.TemporaryDirectory(dir=compiled) as empty:
                    wall_s = _time_to_ready(places[name], empty if cold else compiled)
                if number:  # the first only fills the caches
                    times[name].append({"wall_s": wall_s})
    return times


def _time_to_ready(place: Place, temporary: str) -> float:
    program = find_pi(None, place.environ)
    start = time.perf_counter()
    with subprocess.Popen(
        [*program.argv, "--mode", "rpc", "--no-session"],
        cwd=place.cwd,
        env={**place.environ, "TMPDIR": temporary},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"id": "ready", "type": "get_state"}\n')
        process.stdin.flush()
        for line in process.stdout:
            if json.loads(line).get("id") == "ready":
                break
        wall_s = time.perf_counter() - start
        process.stdin.close()
        process.wait(_ANSWER_TIMEOUT_S)
    return wall_s


def _figures(name: str, times: dict[str, list[Measured]], goal: float | None) -> list[Figure]:
    lowest, highest = spread(times, "without", "with")
    ratio = ratios(times, "without")["with"]
    alone, extended = (medians(times[who])["wall_s"] * 1000 for who in ("without", "with"))
    # What others do on the machine can only be added to a time, so the quickest of each tell most on a busy one.
    quickest = [min(measured["wall_s"] for measured in times[who]) for who in ("without", "with")]
    return [
        Figure(f"{name} start of pi, with beside without", ratio, "×", goal, note=f"({lowest:.2f} to {highest:.2f})"),
        Figure(f"{name} start of pi, the quickest of each", quickest[1] / quickest[0], "×", goal),
        Figure(f"{name} start of pi without the extension", alone, "ms"),
        Figure(f"{name} start of pi with the extension", extended, "ms"),
    ]


if __name__ == "__main__":
    main()
