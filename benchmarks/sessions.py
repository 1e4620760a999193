"""What sessions cost as they become many and long: listing, finding and reading them, and folding a journal.

./scripts/bench sessions [--counts 100 1000 10000] [--events 100000]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pi_subagents.fold import RunState, fold
from pi_subagents.models import Reason
from pi_subagents.models.event import Created, Delta, Event, Message, Started, TextPart, ToolCallPart, ToolEnded
from pi_subagents.models.usage import Usage
from pi_subagents.outcome import ending
from pi_subagents.planning import Place
from pi_subagents.sessions import Sessions
from pi_subagents.store import Index, Journal, publish, read_journal

_BASE_MS = 1_767_225_600_000
_REPEATS = 15


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--counts", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--events", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        _print_curve(Path(scratch), options.counts)
        _print_fold(Path(scratch), options.events)


def _print_curve(scratch: Path, counts: list[int]) -> None:
    print(f"{'sessions':>10}  {'list (30)':>10}  {'find + read':>12}  {'record one':>11}")  # noqa: T201
    first: list[float] = []
    for count in counts:
        place = _filled_place(scratch / str(count), count)
        figures = _measure(place, count)
        first = first or figures
        cells = [f"{ms:7.2f} ms ({ms / base:.1f}x)" for ms, base in zip(figures, first, strict=True)]
        print(f"{count:>10}  " + "  ".join(cells))  # noqa: T201


def _measure(place: Place, count: int) -> list[float]:
    index = Index(place.agent_dir)
    wanted = f"{count // 2:016x}"
    state = Sessions(place).find(wanted).latest
    return [
        _median_ms(lambda: index.rows(limit=30)),
        _median_ms(lambda: Sessions(place).find(wanted)),
        _median_ms(lambda: index.record(place.project, [(state.state, state.run_dir)])),
    ]


def _median_ms(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(_REPEATS):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def _filled_place(folder: Path, count: int) -> Place:
    project = folder / "project"
    (project / ".pi").mkdir(parents=True)
    place = Place(project, folder / "agent", dict(os.environ))
    runs = [_keep(project, number) for number in range(count)]
    Index(place.agent_dir).record(project, runs)
    return place


def _keep(project: Path, number: int) -> tuple[RunState, Path]:
    session_id = f"{number:016x}"
    run_id = f"20260101T{number // 1000:06d}{number % 1000:03d}-{session_id}"
    created = Created(
        at=_BASE_MS + number, run_id=run_id, session_id=session_id, name="task", prompt="p", cwd="/", harness="pi-json"
    )
    run_dir = project / ".pi" / "subagents" / "runs" / run_id
    record = publish(run_dir, {}, created)
    events: list[Event] = [Started(pid=1, containment="none"), *_turn(0), ending(Reason.SETTLED, None, _BASE_MS)]
    record.append(events)
    record.close()
    return fold(RunState(), [created, *events]), run_dir


def _turn(number: int) -> list[Event]:
    call = ToolCallPart(str(number), "bash", {"command": f"echo {number}"})
    return [
        Delta(kind="text", text="I look. "),
        Message(role="assistant", parts=(TextPart("I look."), call), usage=Usage(100, 10, total_tokens=110, cost=0.01)),
        ToolEnded(id=str(number), name="bash"),
        Message(role="toolResult", parts=(TextPart("x" * 200),), tool_call_id=str(number), tool_name="bash"),
    ]


def _print_fold(scratch: Path, count: int) -> None:
    path = scratch / "long.jsonl"
    journal = Journal(path)
    for number in range(count // 4):
        journal.append(_turn(number))
    journal.close()
    folded = _seconds(lambda: fold(RunState(), read_journal(path)))
    parsed = _seconds(lambda: [json.loads(line) for line in path.open("rb")])
    print(  # noqa: T201
        f"\nfolding {count:,} events: {count / folded:,.0f} events/s, {folded / parsed:.2f}x of json.loads alone"
        f" ({count / parsed:,.0f} lines/s)"
    )


def _seconds(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


if __name__ == "__main__":
    main()
