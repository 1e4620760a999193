"""A flood: four agents print 20,000 records a second together, on a terminal of 80×24, with windows and without.

What the view costs beyond parsing is the difference of the two; keys are pressed meanwhile and their effect is waited
for, and at the end every figure that the agents printed must have arrived.

    ./scripts/bench flood [--seconds N] [--rate N] [--agents N]
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import os
import re
import resource
import select
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.machine import resident_mb
from pi_subagents.harness.pi.programs import PI_VARIABLE

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "flood.json"

GOAL_VIEW_CPU = 25.0
GOAL_KEY_MS = 200.0
GOAL_GROWTH_MB = 10.0
COLUMNS, ROWS = 80, 24
_KEY_EVERY_S = 0.7
_BEGIN_FRAME = b"\x1b[?2026h"
_SELECTED = re.compile(rb"\xe2\x96\x8c[^\n]*?flood-(\d+)")
_LAST_WORDS = re.compile(r"Printed (\d+) records in (\d+) turns\.")
_WAIT_S = 120.0
_SAMPLE_S = 0.25
_AGENT = shlex.join([sys.executable, "-I", "-S", str(Path(__file__).with_name("flood_agent.py"))])


@dataclass
class Flooded:
    """What was seen of one flood."""

    report: dict[str, Any]
    frames: int = 0
    drawn_bytes: int = 0
    key_ms: list[float] = field(default_factory=list)
    tail: bytes = b""

    @property
    def records(self) -> int:
        """How many records the agents say they printed."""
        return sum(int(found.group(1)) for found in self._last_words() if found)

    @property
    def is_right(self) -> bool:
        """Whether every run was completed and has counted every message and tool call that its agent printed."""
        expected = [
            [2 * int(found.group(2)) + 1, int(found.group(2))] if found else None for found in self._last_words()
        ]
        return bool(expected == self.report["states"] and self.report["completed"] == len(expected))

    @property
    def growth_mb(self) -> float:
        """Memory at the end beyond that of a quarter of the way, when everything that is bounded has been filled."""
        sizes = [size for _, size in self.report["memory"]]
        return float(max(sizes[-4:]) - sizes[len(sizes) // 4])

    def _last_words(self) -> list[re.Match[str] | None]:
        return [_LAST_WORDS.fullmatch(output or "") for output in self.report["outputs"]]


def flood(folder: Path, *, seconds: float, rate: int, agents: int, view: bool, records: int | None = None) -> Flooded:
    """One flood on a terminal of its own; it ends when its time is over, or with so many records."""
    (folder / ".git").mkdir(parents=True)
    order = {
        "folder": str(folder),
        "report": str(folder / "report.json"),
        "seconds": seconds,
        "rate": rate,
        "agents": agents,
        "records": records,
        "view": view,
    }
    (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
    (folder / "agent").mkdir()
    # The agent that floods hears its task and nothing more.
    # The program that floods speaks no RPC.
    (folder / "agent" / "settings.json").write_text('{"subagents": {"harness": "pi-json"}}', encoding="utf-8")
    environ = {**os.environ, PI_VARIABLE: _AGENT, "PI_AGENT_DIR": str(folder / "agent"), "TERM": "xterm"}
    terminal, end = os.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    command = [sys.executable, "-m", "benchmarks.flood", "--subject", str(folder / "order.json")]
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdin=end, stdout=end, stderr=end) as process:
        os.close(end)
        flooded = Flooded({})
        try:
            _watch(terminal, process, flooded, agents if view else 0)
        finally:
            process.kill()
            os.close(terminal)
    if not (folder / "report.json").exists():
        raise SystemExit(f"the flood failed:\n{flooded.tail.decode('utf-8', 'replace')}")
    flooded.report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return flooded


def _watch(terminal: int, process: subprocess.Popen[bytes], flooded: Flooded, agents: int) -> None:
    """Read what is drawn, and press the key for the next window again and again."""
    deadline = time.monotonic() + _WAIT_S
    selected, pressed_at, next_press = 0, None, 0.0
    while time.monotonic() < deadline:
        data = _read(terminal)
        if data is None:
            if process.poll() is not None:
                return
            continue
        flooded.frames += data.count(_BEGIN_FRAME)
        flooded.drawn_bytes += len(data)
        flooded.tail = (flooded.tail + data)[-8192:]
        now = time.monotonic()
        seen = [int(number) for number in _SELECTED.findall(data)]
        if pressed_at is not None and selected in seen:
            flooded.key_ms.append(1000 * (now - pressed_at))
            pressed_at, next_press = None, now + _KEY_EVERY_S
        elif pressed_at is None and seen and now > next_press and agents > 1:
            selected, pressed_at = (seen[-1] + 1) % agents, now
            os.write(terminal, b"j")
    raise SystemExit("the flood does not end")


def _read(terminal: int) -> bytes | None:
    if not select.select([terminal], [], [], 0.2)[0]:
        return None
    try:
        return os.read(terminal, 65536) or None
    except OSError:  # everybody has closed it
        time.sleep(0.05)
        return None


def figures(blind: Flooded, seen: Flooded) -> list[Figure]:
    """What was measured, for people."""
    wall, blind_wall = seen.report["wall_s"], blind.report["wall_s"]
    view_cpu = 100 * (seen.report["cpu_s"] - blind.report["cpu_s"]) / wall
    frame = f"{seen.drawn_bytes / max(seen.frames, 1):.0f} bytes each"
    keys = seen.key_ms or [-1.0]
    return [
        Figure("records", seen.records / wall, "/s", note=f"without windows {blind.records / blind_wall:.0f}"),
        Figure("CPU of the engine, of one core", 100 * blind.report["cpu_s"] / blind_wall, "%"),
        Figure("frames", seen.frames / wall, "/s", note=frame),
        Figure("CPU of the view, of one core", view_cpu, "%", GOAL_VIEW_CPU),
        Figure("slowest of all keys", max(keys), "ms", GOAL_KEY_MS),
        Figure("median of all keys", statistics.median(keys), "ms", note=f"{len(seen.key_ms)} keys"),
        Figure("growth of memory", seen.growth_mb, "MB", GOAL_GROWTH_MB),
        Figure("memory", seen.report["memory"][-1][1], "MB"),
    ]


# --- the subject --------------------------------------------------------------------------------------------


async def agents_at_work(order: dict[str, Any]) -> dict[str, Any]:
    """Run the agents to their end, with windows if the order says so."""
    from pi_subagents.delegation.delegation import Delegation
    from pi_subagents.models import Task
    from pi_subagents.place import Place
    from pi_subagents.surfaces.live import LiveView

    view = LiveView() if order["view"] else None
    each = {
        "rate": order["rate"] / order["agents"],
        "records": order["records"] and order["records"] // order["agents"],
    }
    prompt = json.dumps({"seconds": order["seconds"], **each})
    tasks = [Task(f"flood-{number}", prompt) for number in range(order["agents"])]
    place = Place.here(Path(order["folder"]))
    delegation = Delegation(tasks, place=place, concurrency=order["agents"], observer=view.observe if view else None)
    memory: list[tuple[float, float]] = []
    sampling = asyncio.create_task(_sample(memory))
    start = time.monotonic()
    if view:
        async with view.showing(delegation):
            results = await delegation
    else:
        results = await delegation
    sampling.cancel()
    return {
        "wall_s": time.monotonic() - start,
        "memory": memory,
        "states": [[run.state.message_count, run.state.tool_count] for run in delegation.runs],
        "outputs": [result.output for result in results],
        "completed": sum(result.ok for result in results),
    }


async def _sample(memory: list[tuple[float, float]]) -> None:
    start = time.monotonic()
    while True:
        memory.append((time.monotonic() - start, resident_mb()))
        await asyncio.sleep(_SAMPLE_S)


def _obey(order: dict[str, Any]) -> None:
    """Do what the order says, and report CPU time, memory over time, and the last states."""
    measured = asyncio.run(agents_at_work(order))
    used = resource.getrusage(resource.RUSAGE_SELF)
    report = {**measured, "cpu_s": used.ru_utime + used.ru_stime}
    Path(order["report"]).write_text(json.dumps(report), encoding="utf-8")


def main() -> None:
    """Measure without and with the view, print the figures, and keep all of them; or be the subject."""
    parser = argparse.ArgumentParser(description="What the windows cost while agents print as fast as they can.")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--subject", type=Path, help=argparse.SUPPRESS)
    options = vars(parser.parse_args())
    if subject := options.pop("subject"):
        _obey(json.loads(subject.read_text(encoding="utf-8")))
        return
    with tempfile.TemporaryDirectory(prefix="flood-") as scratch:
        runs = {name: flood(Path(scratch) / name, **options, view=name == "seen") for name in ("blind", "seen")}
    right = all(run.is_right for run in runs.values())
    lines = [figure.line() for figure in figures(runs["blind"], runs["seen"])]
    lines.append(f"{'✓' if right else '✗'} every run counted what its agent printed")
    sys.stdout.write("\n".join(lines) + "\n")
    RESULTS.parent.mkdir(exist_ok=True)
    kept = {name: {**run.report, "frames": run.frames, "key_ms": run.key_ms} for name, run in runs.items()}
    RESULTS.write_text(json.dumps({"options": options, **kept}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
