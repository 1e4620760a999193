"""What sessions cost as they become many and long: listing, finding and reading them, adding to and folding a journal.

./scripts/bench sessions [--counts 100 1000 10000] [--events 100000]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.machine import say
from pi_subagents.fold import RunState, fold
from pi_subagents.models import Reason
from pi_subagents.models.event import Created, Delta, Event, Message, Started, TextPart, ToolCallPart, ToolEnded
from pi_subagents.models.run import Usage
from pi_subagents.outcome import ending
from pi_subagents.place import Place
from pi_subagents.runs.sessions import Sessions
from pi_subagents.store import Index, Journal, publish, read_journal

_BASE_MS = 1_767_225_600_000
_REPEATS = 15
_MORE_TURNS = 500
_WRITERS = 16


WAYS = {"list_ms": "list the last 30", "find_ms": "find and read one", "record_ms": "record one"}


def measure(counts: Sequence[int], events: int) -> dict[str, Any]:
    """Costs for each number of sessions that there are already, and for each length of a journal."""
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        sessions = {}
        for count in counts:
            say(f"sessions: making {count:,}")
            sessions[str(count)] = _measure(_filled_place(Path(scratch) / str(count), count), count)
        per_event = {str(count): _event_us(Path(scratch) / f"{count}.jsonl", count) for count in counts}
        return {"sessions": sessions, "event_us": per_event, "fold": _measure_fold(Path(scratch), events)}


def figures(found: Mapping[str, Any]) -> list[Figure]:
    """The largest beside the smallest: 1 means that the history costs nothing."""
    sessions, event_us = found["sessions"], found["event_us"]
    first, last = (next(iter(sessions)), list(sessions)[-1])
    grown = f"{int(first):,} → {int(last):,}"
    kept = [
        Figure(
            f"{words}, {grown} sessions",
            sessions[last][key] / sessions[first][key],
            "×",
            note=f"{sessions[first][key]:.2f} → {sessions[last][key]:.2f} ms",
        )
        for key, words in WAYS.items()
    ]
    note = f"{event_us[first]:.1f} → {event_us[last]:.1f} µs"
    kept.append(Figure(f"one more event, {grown} before it", event_us[last] / event_us[first], "×", note=note))
    fold_rate = found["fold"]["events_per_s"]
    note = f"{found['fold']['json_ratio']:.2f}× of json.loads alone"
    return [*kept, Figure("reading a journal and folding it", fold_rate, "/s", note=note)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What sessions cost as they become many and long.")
    parser.add_argument("--counts", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--events", type=int, default=100_000)
    options = parser.parse_args()
    found = measure(options.counts, options.events)
    lines = [f"{'sessions':>10}" + "".join(f"{words:>22}" for words in WAYS.values()) + f"{'one more event':>20}"]
    for count, one in found["sessions"].items():
        cells = "".join(f"{one[key]:>19.2f} ms" for key in WAYS)
        lines.append(f"{int(count):>10,}{cells}{found['event_us'][count]:>17.1f} µs")
    sys.stdout.write("\n".join([*lines, "", *(figure.line() for figure in figures(found))]) + "\n")


def _measure(place: Place, count: int) -> dict[str, float]:
    index = Index(place.agent_dir)
    wanted = f"{count // 2:016x}"
    state = Sessions(place).find(wanted).latest
    return {
        "list_ms": _median_ms(lambda: index.rows(limit=30)),
        "find_ms": _median_ms(lambda: Sessions(place).find(wanted)),
        "record_ms": _median_ms(lambda: index.record(place.project, {state.run_dir: state.state})),
    }


def _median_ms(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(_REPEATS):
        # CPU, not wall: how long the disk takes for a commit depends on the neighbours, not on the history.
        started = time.process_time()
        work()
        times.append((time.process_time() - started) * 1000)
    return statistics.median(times)


def _filled_place(folder: Path, count: int) -> Place:
    project = folder / "project"
    (project / ".pi").mkdir(parents=True)
    place = Place(project, folder / "agent", dict(os.environ))
    with ThreadPoolExecutor(_WRITERS) as pool:  # the disk takes its time for each, but not for one after the other
        runs = dict(pool.map(lambda number: _keep(project, number), range(count)))
    Index(place.agent_dir).record(project, runs)
    return place


def _keep(project: Path, number: int) -> tuple[Path, RunState]:
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
    return run_dir, fold(RunState(), [created, *events])


def _turn(number: int) -> list[Event]:
    call = ToolCallPart(str(number), "bash", {"command": f"echo {number}"})
    return [
        Delta(kind="text", text="I look. "),
        Message(role="assistant", parts=(TextPart("I look."), call), usage=Usage(100, 10, total_tokens=110, cost=0.01)),
        ToolEnded(id=str(number), name="bash"),
        Message(role="toolResult", parts=(TextPart("x" * 200),), tool_call_id=str(number), tool_name="bash"),
    ]


def _event_us(path: Path, count: int) -> float:
    """Microseconds to journal and fold one more event, with so many before it."""
    journal, state = Journal(path), RunState()
    for number in range(count // 4):
        events = _turn(number)
        journal.append(events)
        fold(state, events)
    start = time.process_time()
    for number in range(_MORE_TURNS):
        events = _turn(count + number)
        journal.append(events)
        fold(state, events)
    took = time.process_time() - start
    journal.close()
    return 1e6 * took / (4 * _MORE_TURNS)


def _measure_fold(scratch: Path, count: int) -> dict[str, float]:
    path = scratch / "project" / ".pi" / "subagents" / "runs" / "long" / "events.jsonl"
    path.parent.mkdir(parents=True)
    journal = Journal(path)
    for number in range(count // 4):
        journal.append(_turn(number))
    journal.close()
    folded = _seconds(lambda: fold(RunState(), read_journal(path)))
    parsed = _seconds(lambda: [json.loads(line) for line in path.open("rb")])
    return {"events": count, "events_per_s": count / folded, "json_ratio": folded / parsed}


def _seconds(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


if __name__ == "__main__":
    main()
